#include "dataplane/fault_guard.h"

#include <csignal>

namespace tributary::dataplane {
namespace {

// Static TLS: the handler must not allocate.
thread_local detail::FaultState state_of_thread;

void on_fault(int signal, siginfo_t* /*info*/, void* /*context*/) {
  if (state_of_thread.armed) siglongjmp(state_of_thread.environment, 1);
  // Not ours: fall back to the default action, which the return re-triggers.
  std::signal(signal, SIG_DFL);
}

}  // namespace

detail::FaultState& detail::fault_state() {
  return state_of_thread;
}

void install_fault_handlers() {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;  // left by a jump: the mask must not change
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace tributary::dataplane
