#include "dataplane/port/port_link.h"

namespace tributary::dataplane {

void PortLink::interrupt() {
  if (up_.exchange(false, std::memory_order_acq_rel)) count_loss();
}

// The monitor may have found the link up before the loop took it down, and must not bring it up
// again: hence the release, and poll() looks at lost_peer_ once more.
void PortLink::lose_peer() {
  lost_peer_.store(true, std::memory_order_release);
  interrupt();
}

void PortLink::guard() {
  guarded_.store(true, std::memory_order_relaxed);
  interrupt();
}

bool PortLink::poll(bool running) {
  bool up = running && !lost_peer();
  if (!up) guarded_.store(false, std::memory_order_relaxed);
  up = up && !is_guarded();
  if (up_.exchange(up, std::memory_order_acq_rel) && !up) count_loss();
  if (up && lost_peer()) {
    up_.store(false, std::memory_order_relaxed);
    return false;
  }
  return up;
}

}  // namespace tributary::dataplane
