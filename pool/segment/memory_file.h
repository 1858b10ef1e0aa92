// A node's part of the pool as a file: mapped, shared, completely resident (L1).
//
// In tmpfs or hugetlbfs it outlives the process, so a node that was killed finds its records again.
// A file is never shortened, because readers may have mapped it: another size needs another file.
// It is locked: two processes never serve the same file. RDMA devices pin it, which RLIMIT_MEMLOCK
// limits; memlock_problem() reports that before a device does.
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
  std::optional<unsigned> numa_node;  // pages come only from this node
};

class MemoryFile {
 public:
  // Creates the file, or uses the existing one if it has this size. An existing one is taken only
  // if it is a regular file of this user, of mode 0600, with one name: another user who can write
  // it, or its other name, would be served as records. Throws std::runtime_error that names the
  // file and what to do.
  explicit MemoryFile(const MemoryOptions& options);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }
  // Open for reading and writing, as long as this object lives.
  [[nodiscard]] int file() const { return fd_; }
  // True if the file existed before, with this size.
  [[nodiscard]] bool found() const { return found_; }
  // Size of its pages; more than 4 KiB in hugetlbfs.
  [[nodiscard]] std::uint64_t page_bytes() const { return page_bytes_; }

 private:
  int fd_ = -1;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t page_bytes_ = 4096;
  bool found_ = false;
};

// Why so many bytes cannot be pinned: the limit, and what to set; nullopt if they can.
std::optional<std::string> memlock_problem(std::uint64_t bytes);
std::optional<std::string> memlock_problem(std::uint64_t bytes, std::uint64_t limit_bytes,
                                           bool privileged);

}  // namespace tributary::pool
