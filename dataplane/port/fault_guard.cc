#include "dataplane/port/fault_guard.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <thread>

#include "dataplane/port/peer_memory.h"

namespace tributary::dataplane {
namespace {

// Static TLS: the handler must not allocate.
constinit thread_local detail::FaultState state_of_thread;

// List of all threads that make guarded calls. Never destroyed: the interrupt thread does not end.
constinit std::mutex threads_guard;
constinit detail::FaultState* threads = nullptr;

class Registration {
 public:
  Registration() {
    const std::lock_guard lock(threads_guard);
    state_of_thread.next = threads;
    threads = &state_of_thread;
  }
  ~Registration() {
    const std::lock_guard lock(threads_guard);
    detail::FaultState** link = &threads;
    while (*link != &state_of_thread) link = &(*link)->next;
    *link = state_of_thread.next;
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
};

// Beyond the end of a file that is mapped: the mapping stays, and is ours to put something into.
bool stand_in(const siginfo_t& info) {
  if (info.si_code != BUS_ADRERR) return false;
  const int before = errno;
  const bool there = stand_in_for_peer(info.si_addr);
  errno = before;
  return there;
}

void on_fault(int signal, siginfo_t* info, void* /*context*/) {
  detail::FaultState& state = state_of_thread;
  if (signal == SIGBUS && stand_in(*info)) {
    state.stood_in = true;
    return;
  }
  if (state.inside()) siglongjmp(state.environment, 1);
  // Not ours: fall back to the default action, which the return re-triggers.
  std::signal(signal, SIG_DFL);
}

}  // namespace

detail::FaultState& detail::fault_state() {
  thread_local const Registration registration;
  return state_of_thread;
}

void install_fault_handlers() {
  open_mappings();
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;  // left by a jump: the mask must not change
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

// A burst takes some microseconds, and as long as others have its CPU.
bool await_guarded_calls(std::uint32_t looks) {
  constexpr auto kPause = std::chrono::microseconds(20);
  rte_smp_mb();  // see FaultState::begin()
  bool all_ended = true;
  const std::lock_guard lock(threads_guard);
  for (detail::FaultState* thread = threads; thread != nullptr; thread = thread->next) {
    const std::uint32_t call = thread->calls();
    const auto lasts = [&] { return thread->inside() && thread->calls() == call; };
    if (!lasts()) continue;
    // A driver that ends many things at once does not wait for each.
    for (std::uint32_t i = 0; i < looks && thread->given_up != call && lasts(); ++i)
      std::this_thread::sleep_for(kPause);
    if (!lasts()) continue;
    thread->given_up = call;
    all_ended = false;
  }
  return all_ended;
}

}  // namespace tributary::dataplane
