// A file that is a node's part of the pool: mapped, shared, all of it resident (L1).
//
// In tmpfs or hugetlbfs it outlives the process, so a node that was killed finds its records again.
// A file is never shortened: readers may have mapped it. Another size is another file.
// It is locked: two processes never serve the same file. RDMA devices pin it, which RLIMIT_MEMLOCK
// bounds; check_memlock() says so before a device does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tributary::pool {

struct MemoryOptions {
  std::string path;
  std::uint64_t bytes = 0;
  std::optional<unsigned> numa_node;  // pages come from this node alone
};

class MemoryFile {
 public:
  // Creates the file, or takes the one that is there if it has this size. Throws
  // std::runtime_error that names the file and what to do.
  explicit MemoryFile(const MemoryOptions& options);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
  // Open for reading and writing, as long as this object lives.
  [[nodiscard]] int file() const { return fd_; }
  // It was there before, with this size.
  [[nodiscard]] bool found() const { return found_; }
  // Of the pages below it; more than 4 KiB in hugetlbfs.
  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }

 private:
  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t page_bytes_ = 4096;
  bool found_ = false;
};

// What is wrong with pinning so many bytes: the limit, and what to set; nullopt: nothing.
std::optional<std::string> memlock_problem(std::uint64_t bytes);
std::optional<std::string> memlock_problem(std::uint64_t bytes, std::uint64_t limit_bytes,
                                           bool privileged);

}  // namespace tributary::pool
