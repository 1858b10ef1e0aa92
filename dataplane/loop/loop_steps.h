// The steps by which all packet loops take a change of the configuration
// (dataplane/loop/packet_loop_ports.cc):
//
//   check ─▶ make_room ─▶ apply ─▶ attach ─▶ forget_behind
//              └─ of ports ┘         └─ of ports
//
// Each step is a request to every loop, and is for all of them before the next one is for any. A
// loop that falls silent after check() may hold up the last steps of the others, and nothing else:
// its own are in its mailbox, where they have places of their own, however many requests of others
// wait there. When it wakes up it takes them, and the others go on by themselves. Until then it is
// late (PacketLoop::is_late()), and readers of what loops own leave it out.
//
// One control thread at a time, which does not begin a change before check() has returned.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/time.h"
#include "dataplane/loop/packet_loops.h"

namespace tributary::dataplane {

class LoopSteps {
 public:
  // The change of each loop, by lcore.
  using Prepared = std::vector<std::shared_ptr<PacketLoop::Change>>;

  explicit LoopSteps(const PacketLoops& workers) : packet_loops_(workers) {}

  // Throws std::runtime_error when a loop does not answer in time, or is not through with the
  // change before; when it returns, nothing of that waits for any, and all have forgotten what a
  // late loop may have told them of ports that moved.
  void check(Duration patience);
  // Takes all steps, each within `patience`. `moved`: ports that may have other peers from now on.
  // False: some loop has not taken its steps, so `prepared` and what it refers to have to live
  // until the next check() that returns.
  bool take(const Prepared& prepared, PortMask moved, Duration patience);

 private:
  void forget_again(Duration patience);
  // One step of all loops; false: some loop is silent.
  template <typename Step>
  bool everywhere(const Prepared& prepared, Duration patience, Step step);

  const PacketLoops& packet_loops_;
  std::atomic<std::size_t> loops_left_{0};  // see PacketLoop::PortPlan
  PortMask to_forget_ = 0;                  // once more, when a late loop is through
};

}  // namespace tributary::dataplane
