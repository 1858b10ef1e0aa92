// A node's memory file, mapped read-only. Its owner may cut the file short at any time; the kernel
// then raises SIGBUS for the pages that are gone.
//
//   copy() ─▶ page is gone ─▶ SIGBUS ─▶ all of the mapping becomes zeros ─▶ copy() returns false
//
// The process's action for SIGBUS is replaced when memory is mapped. Faults elsewhere go to the
// action that was there before.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::pool {

class MappedMemory {
 public:
  // Throws TransportError.
  MappedMemory(int file, std::uint64_t bytes);
  ~MappedMemory();
  MappedMemory(const MappedMemory&) = delete;
  MappedMemory& operator=(const MappedMemory&) = delete;

  // `offset` and `out` must be inside of the memory. Returns false once the file was cut short;
  // then `out` may have any bytes. One thread.
  bool copy(std::uint64_t offset, std::span<std::byte> out);

 private:
  static void on_bus_error(int signal, siginfo_t* info, void* context);
  static void take_bus_errors();

  std::byte* bytes_ = nullptr;
  const std::uint64_t size_;
  std::atomic<bool> lost_{false};  // set by the signal handler, on the thread that copies
};

}  // namespace tributary::pool
