// Reads of memory over libfabric without the pool: the reference of suite `pool`.
//
//   pool_reads serve TRANSPORT HOST MEBIBYTES    prints where it serves; ends with its input
//   pool_reads read WHERE BYTES READS            prints GB/s of random reads of BYTES each
//   pool_reads copy MEBIBYTES BYTES READS        the same by memcpy, of memory in a file
//
// The server polls without a pause, the reader keeps as many reads in flight as the pool's does,
// each with one buffer, no header and no check: what fi_read gives on this path.
#include <rdma/fi_errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "pool/transport/fabric.h"

namespace {

using tributary::pool::check_fabric;
using tributary::pool::FabricEndpoint;
using tributary::pool::FidPtr;
using tributary::pool::TransportKind;

constexpr std::size_t kInFlight = 128;

TransportKind kind_of(const std::string& name) {
  if (name == "tcp") return TransportKind::tcp;
  if (name == "shm") return TransportKind::shm;
  throw std::runtime_error("'" + name + "'; allowed: tcp, shm");
}

std::string to_hex(const std::vector<std::byte>& bytes) {
  std::string out;
  for (const std::byte b : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    out += kDigits[std::to_integer<unsigned>(b) >> 4];
    out += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return out;
}

std::vector<std::byte> from_hex(const std::string& text) {
  std::vector<std::byte> out;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(text.data() + i, text.data() + i + 2, value, 16);
    out.push_back(static_cast<std::byte>(value));
  }
  return out;
}

void serve(const std::string& transport, const std::string& host, std::size_t bytes) {
  std::vector<std::byte> memory(bytes, std::byte{1});
  const FabricEndpoint endpoint(kind_of(transport), host, false);
  fid_mr* made = nullptr;
  check_fabric(fi_mr_reg(endpoint.domain.get(), memory.data(), bytes, FI_REMOTE_READ, 0, 1, 0,
                         &made, nullptr),
               "registering");
  const FidPtr<fid_mr> region(made);
  std::vector<std::byte> address(256);
  std::size_t length = address.size();
  check_fabric(fi_getname(&endpoint.endpoint->fid, address.data(), &length), "own address");
  address.resize(length);
  const bool by_address = (endpoint.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
  std::printf("%s:%s:%llu:%zu:%llu\n", transport.c_str(), to_hex(address).c_str(),
              by_address ? reinterpret_cast<unsigned long long>(memory.data()) : 0ULL, bytes,
              static_cast<unsigned long long>(fi_mr_key(made)));
  std::fflush(stdout);
  std::atomic<bool> stop{false};
  std::thread input([&stop] {
    char c = 0;
    while (read(STDIN_FILENO, &c, 1) > 0) continue;
    stop = true;
  });
  std::array<fi_cq_entry, 16> entries{};
  while (!stop) {
    const ssize_t got = fi_cq_read(endpoint.completions.get(), entries.data(), entries.size());
    if (got != -FI_EAVAIL) continue;
    fi_cq_err_entry error{};
    fi_cq_readerr(endpoint.completions.get(), &error, 0);
  }
  input.join();
}

// An endpoint of a serving process, and reads of it with as many in flight as may be.
class Reader {
 public:
  Reader(const std::string& where, std::size_t bytes) : bytes_(bytes) {
    std::vector<std::string> parts;
    std::istringstream text(where);
    for (std::string part; std::getline(text, part, ':');) parts.push_back(part);
    if (parts.size() != 5) throw std::runtime_error("'" + where + "' is not what serve prints");
    base_ = std::stoull(parts[2]);
    size_ = std::stoull(parts[3]);
    key_ = std::stoull(parts[4]);
    endpoint_.emplace(kind_of(parts[0]), "", false);
    const std::vector<std::byte> address = from_hex(parts[1]);
    if (fi_av_insert(endpoint_->addresses.get(), address.data(), 1, &node_, 0, nullptr) != 1)
      throw std::runtime_error("no address");
    for (std::size_t i = 0; i < kInFlight; ++i) free_.push_back(i);
  }

  // GB/s of so many.
  double read(std::size_t reads) {
    const auto start = std::chrono::steady_clock::now();
    std::size_t posted = 0;
    for (std::size_t done = 0; done < reads; done += complete())
      while (posted < reads && post()) ++posted;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    return static_cast<double>(bytes_ * reads) / took.count() / 1e9;
  }

 private:
  bool post() {
    if (free_.empty()) return false;
    const std::size_t slot = free_.back();
    const std::uint64_t offset = random_() % (size_ / bytes_) * bytes_;
    const ssize_t result = fi_read(endpoint_->endpoint.get(), target_.data() + slot * bytes_,
                                   bytes_, nullptr, node_, base_ + offset, key_, &contexts_[slot]);
    if (result == -FI_EAGAIN) return false;
    check_fabric(static_cast<int>(result), "read");
    free_.pop_back();
    return true;
  }
  std::size_t complete() {
    std::array<fi_cq_entry, 64> entries{};
    const ssize_t got = fi_cq_read(endpoint_->completions.get(), entries.data(), entries.size());
    if (got == -FI_EAGAIN) return 0;
    check_fabric(static_cast<int>(got), "completions");
    for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i)
      free_.push_back(static_cast<std::size_t>(static_cast<fi_context2*>(entries[i].op_context) -
                                               contexts_.data()));
    return static_cast<std::size_t>(got);
  }

  const std::size_t bytes_;
  std::uint64_t base_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t key_ = 0;
  std::vector<fi_context2> contexts_ = std::vector<fi_context2>(kInFlight);
  std::vector<std::byte> target_ = std::vector<std::byte>(bytes_ * kInFlight);
  std::optional<FabricEndpoint> endpoint_;
  fi_addr_t node_ = FI_ADDR_UNSPEC;
  std::vector<std::size_t> free_;
  std::mt19937_64 random_{1};
};

// The first reads connect, and touch memory for the first time: they do not count.
double read_from(const std::string& where, std::size_t bytes, std::size_t reads) {
  Reader reader(where, bytes);
  reader.read(reads);
  return reader.read(reads);
}

double copy_from(std::size_t memory, std::size_t bytes, std::size_t reads) {
  const int file = memfd_create("pool_reads", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(memory)) != 0)
    throw std::runtime_error("no memory of " + std::to_string(memory) + " bytes");
  void* const at = mmap(nullptr, memory, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at == MAP_FAILED) throw std::runtime_error("memory cannot be mapped");
  auto* const source = static_cast<std::byte*>(at);
  std::memset(source, 1, memory);
  std::vector<std::byte> target(bytes * 64);
  std::mt19937_64 random(1);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < reads; ++i)
    std::memcpy(target.data() + i % 64 * bytes, source + random() % (memory / bytes) * bytes,
                bytes);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  munmap(at, memory);
  close(file);
  return static_cast<double>(bytes * reads) / took.count() / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (words.size() == 4 && words[0] == "serve") {
      serve(words[1], words[2], std::stoull(words[3]) << 20);
    } else if (words.size() == 4 && words[0] == "read") {
      std::printf("%.4f\n", read_from(words[1], std::stoull(words[2]), std::stoull(words[3])));
    } else if (words.size() == 4 && words[0] == "copy") {
      std::printf("%.4f\n", copy_from(std::stoull(words[1]) << 20, std::stoull(words[2]),
                                      std::stoull(words[3])));
    } else {
      std::fprintf(stderr,
                   "usage: pool_reads serve TRANSPORT HOST MEBIBYTES\n"
                   "       pool_reads read WHERE BYTES READS\n"
                   "       pool_reads copy MEBIBYTES BYTES READS\n");
      return 2;
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pool_reads: %s\n", error.what());
    return 1;
  }
  return 0;
}
