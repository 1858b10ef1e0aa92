// A node's memory over libfabric. Its progress is manual: a thread of the server drives it.
//
// Each permit has a registration, and so a key, of its own: 64 random bits. These pin no memory.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "pool/transport/fabric.h"

namespace tributary::pool {
namespace {

class FabricServer : public MemoryServer {
 public:
  FabricServer(TransportKind kind, const std::string& host, std::span<std::byte> memory)
      : bytes_(memory), endpoint_(kind, host, kind == TransportKind::tcp) {
    memory_.transport = kind;
    memory_.bytes = memory.size();
    const bool by_address = (endpoint_.info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    memory_.base = by_address ? reinterpret_cast<std::uintptr_t>(memory.data()) : 0;
    std::size_t length = 256;
    memory_.address.resize(length);
    check_fabric(fi_getname(&endpoint_.endpoint->fid, memory_.address.data(), &length),
                 std::string(name_of(kind)) + ": own address");
    memory_.address.resize(length);
    thread_ = std::thread([this] { serve(); });
  }
  ~FabricServer() override {
    stopping_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

  [[nodiscard]] TransportKind kind() const override { return memory_.transport; }

  std::unique_ptr<ReadPermit> admit(const std::string&) override {
    auto permit = std::make_unique<Permit>();
    fid_mr* region = nullptr;
    check_fabric(fi_mr_reg(endpoint_.domain.get(), bytes_.data(), bytes_.size(), FI_REMOTE_READ, 0,
                           draw_key(), 0, &region, nullptr),
                 std::string(name_of(memory_.transport)) + ": registering " +
                     std::to_string(bytes_.size()) + " bytes");
    permit->region.reset(region);
    permit->remote = memory_;
    permit->remote.key = fi_mr_key(region);
    return permit;
  }

 private:
  struct Permit : ReadPermit {
    [[nodiscard]] const RemoteMemory& memory() const override { return remote; }
    FidPtr<fid_mr> region;
    RemoteMemory remote;
  };

  static std::uint64_t draw_key() {
    std::random_device random;
    return std::uint64_t{random()} << 32 | random();
  }

  // Other nodes' reads complete without an entry here; entries are errors of broken connections.
  void serve() {
    std::array<fi_cq_entry, 16> entries{};
    constexpr int kWaitMs = 50;
    // Readers copy by the kernel's cross-memory reads, which do not need this thread after their
    // first contact: a shorter pause would cost a sixth of a core and gain nothing.
    constexpr auto kLongestPause = std::chrono::microseconds(500);
    auto idle = std::chrono::microseconds(1);
    while (!stopping_.load(std::memory_order_relaxed)) {
      ssize_t got = 0;
      if (endpoint_.kind == TransportKind::tcp) {
        got = fi_cq_sread(endpoint_.completions.get(), entries.data(), entries.size(), nullptr,
                          kWaitMs);
      } else {
        got = fi_cq_read(endpoint_.completions.get(), entries.data(), entries.size());
        if (got == -FI_EAGAIN) {
          std::this_thread::sleep_for(idle);
          idle = std::min(2 * idle, kLongestPause);
          continue;
        }
        idle = std::chrono::microseconds(1);
      }
      if (got == -FI_EAVAIL) {
        fi_cq_err_entry error{};
        fi_cq_readerr(endpoint_.completions.get(), &error, 0);
      }
    }
  }

  const std::span<std::byte> bytes_;
  FabricEndpoint endpoint_;
  RemoteMemory memory_;                // without a key
  std::atomic<bool> stopping_{false};  // set by the destructor, read by the thread
  std::thread thread_;
};

}  // namespace

std::unique_ptr<MemoryServer> serve_by_fabric(TransportKind kind, const std::string& host,
                                              std::span<std::byte> memory) {
  return std::make_unique<FabricServer>(kind, host, memory);
}

}  // namespace tributary::pool
