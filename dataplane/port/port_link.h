// The link of a port, between the link monitor, which asks the device, and the loops, which look at
// it before they poll the port or send there.
//
//   down ──poll(true)──▶ up ──poll(false), lose_peer(), guard(), interrupt()──▶ down
//
// Invariant: while the peer is lost, or the port is guarded, no poll brings the link up. All but
// poll(), forget_peer() and interrupt(), which are the link monitor's, may be called by any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace tributary::dataplane {

class PortLink {
 public:
  // False: frames for this port are dropped.
  [[nodiscard]] bool up() const { return up_.load(std::memory_order_relaxed); }
  // How often it went down. What was learned behind the port is forgotten when that changes.
  [[nodiscard]] std::uint32_t losses() const { return losses_.load(std::memory_order_relaxed); }

  // A loop: the peer took away memory that a burst touched, or broke its protocol. Down from now
  // on, until forget_peer().
  void lose_peer();
  [[nodiscard]] bool lost_peer() const { return lost_peer_.load(std::memory_order_acquire); }
  // A loop: the port heard a spanning tree's message that it must not. Down until the device's own
  // link is lost.
  void guard();
  [[nodiscard]] bool is_guarded() const { return guarded_.load(std::memory_order_relaxed); }

  // The lost peer's connection has ended.
  void forget_peer() { lost_peer_.store(false, std::memory_order_relaxed); }
  // Down, if only for a moment: another peer may be there already.
  void interrupt();
  // `running`: the device and its interface are up. Returns the new state.
  bool poll(bool running);

  // Before the port is used: goes on counting losses from those of the port before.
  void succeed(std::uint32_t losses) { losses_.store(losses, std::memory_order_relaxed); }
  // For a port without a device: what was learned behind it is forgotten.
  void count_loss() { losses_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<bool> up_{false};
  std::atomic<std::uint32_t> losses_{0};
  std::atomic<bool> lost_peer_{false};  // set by loops, cleared by forget_peer()
  std::atomic<bool> guarded_{false};    // set by loops, cleared by poll()
};

}  // namespace tributary::dataplane
