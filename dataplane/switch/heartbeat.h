// Changes as long as all packet loops turn: what a watchdog goes by. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/loop/packet_loops.h"

namespace tributary::dataplane {

class Heartbeat {
 public:
  explicit Heartbeat(const PacketLoops& loops) : loops_(loops), last_turns_(loops.size()) {}

  // The same as before while some loop has not turned since it last changed.
  std::uint64_t beat() {
    for (std::size_t i = 0; i < loops_.size(); ++i)
      if (loops_[i].counters().turns.get() == last_turns_[i]) return beats_;
    for (std::size_t i = 0; i < loops_.size(); ++i)
      last_turns_[i] = loops_[i].counters().turns.get();
    return ++beats_;
  }

 private:
  const PacketLoops& loops_;
  std::vector<std::uint64_t> last_turns_;
  std::uint64_t beats_ = 0;
};

}  // namespace tributary::dataplane
