#include "pool/segment/memory_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mempolicy.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

namespace tributary::pool {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw std::runtime_error(path + ": " + what + ": " + std::generic_category().message(error));
}

void bind_to(std::byte* data, std::size_t size, unsigned node, const std::string& path) {
  constexpr unsigned kBits = 8 * sizeof(unsigned long);
  std::array<unsigned long, 16> mask{};
  if (node >= mask.size() * kBits)
    throw std::runtime_error(path + ": there is no NUMA node " + std::to_string(node));
  mask[node / kBits] |= 1UL << (node % kBits);
  if (syscall(SYS_mbind, data, size, MPOL_BIND, mask.data(), mask.size() * kBits, 0U) != 0)
    fail(path, "cannot be bound to NUMA node " + std::to_string(node), errno);
}

// Why the file may not be a node's memory, and what is allowed; empty if it may.
std::string trust_problem(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "is no regular file; allowed: one, or none yet";
  if (status.st_uid != geteuid())
    return "is of user " + std::to_string(status.st_uid) + "; allowed: a file of this user, " +
           std::to_string(geteuid());
  if (const mode_t mode = status.st_mode & 07777; mode != 0600) {
    std::array<char, 8> text{};
    std::snprintf(text.data(), text.size(), "%04o", mode);
    return std::string("has mode ") + text.data() + "; allowed: 0600";
  }
  if (status.st_nlink != 1)
    return "has " + std::to_string(status.st_nlink) + " names; allowed: one, no hard links";
  return "";
}

}  // namespace

MemoryFile::MemoryFile(const MemoryOptions& options) : size_(options.bytes) {
  const std::string& path = options.path;
  const auto close_and = [this](auto&& then) {
    close(fd_);
    fd_ = -1;
    then();
  };
  struct stat status {};
  const auto open_it = [&] {
    fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd_ < 0) fail(path, "cannot open", errno);
    if (fstat(fd_, &status) != 0) close_and([&] { fail(path, "cannot read", errno); });
    if (const std::string problem = trust_problem(status); !problem.empty())
      close_and([&] { throw std::runtime_error(path + ": " + problem); });
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0)
      close_and([&] {
        throw std::runtime_error(path +
                                 ": another process serves this memory; allowed: one node a "
                                 "file");
      });
    if (fstat(fd_, &status) != 0) close_and([&] { fail(path, "cannot read", errno); });
    found_ = static_cast<std::uint64_t>(status.st_size) == size_;
  };
  open_it();
  if (!found_ && status.st_size != 0) {
    if (unlink(path.c_str()) != 0) close_and([&] { fail(path, "cannot be replaced", errno); });
    close_and(open_it);
  }
  struct statfs system {};
  if (fstatfs(fd_, &system) != 0) close_and([&] { fail(path, "cannot read", errno); });
  if (system.f_type == HUGETLBFS_MAGIC) page_bytes_ = static_cast<std::uint64_t>(system.f_bsize);
  if (size_ % page_bytes_ != 0)
    close_and([&] {
      throw std::runtime_error(path + ": " + std::to_string(size_) +
                               " bytes are no whole number of pages of " +
                               std::to_string(page_bytes_) + " bytes");
    });
  if (!found_ && ftruncate(fd_, static_cast<off_t>(size_)) != 0)
    close_and([&] { fail(path, "cannot be given " + std::to_string(size_) + " bytes", errno); });
  void* const at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (at == MAP_FAILED) close_and([&] { fail(path, "cannot be mapped", errno); });
  data_ = static_cast<std::byte*>(at);
  try {
    if (options.numa_node) bind_to(data_, size_, *options.numa_node, path);
    // Allocated now: a write into a full tmpfs would raise SIGBUS.
    if (const int error = posix_fallocate(fd_, 0, static_cast<off_t>(size_)); error != 0)
      fail(path, "has no room for " + std::to_string(size_) + " bytes", error);
  } catch (...) {
    munmap(data_, size_);
    close_and([] {});
    throw;
  }
}

MemoryFile::~MemoryFile() {
  if (data_ != nullptr) munmap(data_, size_);
  if (fd_ >= 0) close(fd_);
}

std::optional<std::string> memlock_problem(std::uint64_t bytes, std::uint64_t limit_bytes,
                                           bool privileged) {
  if (privileged || limit_bytes >= bytes) return std::nullopt;
  return "the limit on locked memory is " + std::to_string(limit_bytes >> 10) + " KiB, and " +
         std::to_string((bytes + 1023) >> 10) +
         " KiB are to be registered; set LimitMEMLOCK=infinity in the unit, or `ulimit -l " +
         std::to_string((bytes + 1023) >> 10) + "`";
}

std::optional<std::string> memlock_problem(std::uint64_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return std::nullopt;
  return memlock_problem(bytes, limit.rlim_cur, geteuid() == 0);
}

}  // namespace tributary::pool
