// SIGINT and SIGTERM while ranks run here: they leave their job before the process ends, so that
// the switch does not count on them.
#pragma once

#include "worker/api/communicator.h"

namespace tributary::client {

// Catches the first of these signals as long as it lives; the next one ends the process at once.
// One at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Any thread.
  static bool caught();
  // Ends the process by the signal that was caught, if one was, as if it had not been.
  static void pass_on();
};

// Waits for the op. Throws std::runtime_error when a signal is caught.
void finish(Request request);

}  // namespace tributary::client
