#include "dataplane/port/memif_disconnect.h"

#include <dlfcn.h>
#include <rte_interrupts.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>

#include "dataplane/port/fault_guard.h"

namespace {

using Unmap = int (*)(void*, std::size_t);
using Close = int (*)(int);

// The C library's, or a sanitizer's.
Unmap next_unmap() {
  static const Unmap next = reinterpret_cast<Unmap>(dlsym(RTLD_NEXT, "munmap"));
  return next;
}
Close next_close() {
  static const Close next = reinterpret_cast<Close>(dlsym(RTLD_NEXT, "close"));
  return next;
}

void await_bursts() {
  if (rte_thread_is_intr() != 0) tributary::dataplane::await_guarded_calls();
}

}  // namespace

extern "C" int munmap(void* address, std::size_t bytes) noexcept {
  await_bursts();
  return next_unmap()(address, bytes);
}

extern "C" int close(int descriptor) {
  await_bursts();
  return next_close()(descriptor);
}

namespace tributary::dataplane {

void disconnect_after_bursts() {
  next_unmap();
  next_close();
}

}  // namespace tributary::dataplane
