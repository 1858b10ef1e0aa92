#include "dataplane/host/prefault.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace tributary::dataplane {
namespace {

// Does what MADV_POPULATE_WRITE does (madvise(2)), for kernels before 5.14.
void write_to_each(std::span<std::byte> memory, std::size_t page) {
  const auto touch = [](std::byte& at) {
    volatile std::byte& byte = at;
    byte = byte;
  };
  for (std::size_t at = 0; at < memory.size(); at += page) touch(memory[at]);
  touch(memory.back());  // the first page may have had less than a page of it
}

}  // namespace

bool prefault(std::span<std::byte> memory) {
  if (memory.empty()) return true;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(memory.data()) % page;
  std::byte* const begin = memory.data() - before;
  int failed = 0;
  do {
    failed = madvise(begin, memory.size() + before, MADV_POPULATE_WRITE);
  } while (failed != 0 && errno == EINTR);
  if (failed == 0) return true;
  if (errno != EINVAL) return false;
  write_to_each(memory, page);
  return true;
}

}  // namespace tributary::dataplane
