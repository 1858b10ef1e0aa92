#include "dataplane/memif_disconnect.h"

#include <dlfcn.h>
#include <rte_interrupts.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "dataplane/fault_guard.h"

namespace {

// The C library's, or a sanitizer's.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int next_unmap(void* address, std::size_t bytes) {
  static auto* const function = next<int(void*, std::size_t)>("munmap");
  return function(address, bytes);
}

int next_close(int descriptor) {
  static auto* const function = next<int(int)>("close");
  return function(descriptor);
}

void await_bursts() {
  if (rte_thread_is_intr() != 0) tributary::dataplane::await_guarded_calls();
}

}  // namespace

extern "C" int munmap(void* address, std::size_t bytes) noexcept {
  await_bursts();
  return next_unmap(address, bytes);
}

extern "C" int close(int descriptor) {
  await_bursts();
  return next_close(descriptor);
}

namespace tributary::dataplane {

void disconnect_after_bursts() {
  next_unmap(nullptr, 0);  // EINVAL
  next_close(-1);          // EBADF
}

}  // namespace tributary::dataplane
