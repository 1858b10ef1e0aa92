#include "dataplane/fault_guard.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>

#include "dataplane/peer_memory.h"

namespace tributary::dataplane {
namespace {

// Static TLS: the handler must not allocate.
thread_local detail::FaultState state_of_thread;

std::uintptr_t page_bytes = 4096;  // written before the handlers are there

// In a call that may be left: one page at once, as the driver's other thread may be about to unmap
// it. False: it is of another kind, such as huge pages, where a part cannot be replaced.
bool replace_page(void* address) {
  auto* const at = static_cast<std::byte*>(address);
  std::byte* const page = at - (reinterpret_cast<std::uintptr_t>(at) & (page_bytes - 1));
  return mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
              0) != MAP_FAILED;
}

// Beyond the end of a file that is mapped: the mapping stays, and is ours to put something into.
bool stand_in(const siginfo_t& info, bool armed) {
  if (info.si_code != BUS_ADRERR) return false;
  const int before = errno;
  const bool there = armed ? replace_page(info.si_addr) : stand_in_for_peer(info.si_addr);
  errno = before;
  return there;
}

void on_fault(int signal, siginfo_t* info, void* /*context*/) {
  detail::FaultState& state = state_of_thread;
  if (signal == SIGBUS && stand_in(*info, state.armed)) {
    state.stood_in = true;
    return;
  }
  if (state.armed) siglongjmp(state.environment, 1);
  // Not ours: fall back to the default action, which the return re-triggers.
  std::signal(signal, SIG_DFL);
}

}  // namespace

detail::FaultState& detail::fault_state() {
  return state_of_thread;
}

void install_fault_handlers() {
  page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  open_mappings();
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;  // left by a jump: the mask must not change
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace tributary::dataplane
