#include "tools/client/collective/interrupt.h"

#include <atomic>
#include <csignal>
#include <stdexcept>

namespace tributary::client {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
// How long a wait takes to see a signal that another thread was given.
constexpr Duration kPeriod = Duration::ms(50);

std::atomic<int> caught_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void note_signal(int signal) {
  caught_signal = signal;
}

}  // namespace

Interrupt::Interrupt() {
  caught_signal = 0;
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

Interrupt::~Interrupt() {
  for (const int signal : kSignals) std::signal(signal, SIG_DFL);
}

bool Interrupt::caught() {
  return caught_signal != 0;
}

void Interrupt::pass_on() {
  if (const int signal = caught_signal) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

void finish(Request request) {
  while (!request.wait_for(kPeriod))
    if (Interrupt::caught()) throw std::runtime_error("interrupted");
}

}  // namespace tributary::client
