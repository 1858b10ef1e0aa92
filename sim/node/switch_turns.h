// Turns of a simulated switch: frames wait for the next turn, and work takes time.
//
//   receive() ─▶ waits ─▶ begin() ─▶ next() … spend() … ─▶ end()
//
// A turn begins a random time after a frame came to an idle switch, when the work of the turn
// before is done, or at a tick. A switch whose work costs nothing takes all that waits in one turn;
// another takes a burst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/prng.h"
#include "core/time.h"
#include "sim/network/frame.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

class SwitchTurns {
 public:
  struct Waiting {
    std::uint16_t port;
    FrameRef frame;
  };

  // `turn_max`: from a frame's arrival to the turn, at most. `tick`: turns of an idle switch.
  SwitchTurns(Duration turn_max, Duration tick, const SwitchCost& cost, std::uint64_t seed)
      : turn_max_(turn_max), tick_(tick), cost_(cost), random_(seed) {}

  void start(Instant now) { tick_at_ = now + tick_; }
  // Power goes. Returns the ports of the frames that never got as far as a turn.
  std::vector<std::uint16_t> crash();
  void receive(std::uint16_t port, const FrameRef& frame, Instant now);

  // Returns false while the switch is still at work.
  bool begin(Instant now);
  // The turn's next frame, whose receipt is paid for; nullopt: there is none.
  std::optional<Waiting> next();
  // Adds to the work in hand.
  void spend(Duration work) { spent_ = spent_ + work; }
  void end(Instant now);
  // Forgets the work of the last turn: what follows outside of a turn takes no time.
  void clear_work() { spent_ = Duration(); }

  [[nodiscard]] Instant next_wakeup() const;
  // Frames received by this port that wait for the next turn.
  [[nodiscard]] std::uint64_t waiting_at(std::uint16_t port) const;
  // The most frames that waited for a turn.
  [[nodiscard]] std::size_t most_waiting() const { return most_waiting_; }
  // Since the begin of the run: at work, by the node's own clock.
  [[nodiscard]] Duration busy() const { return busy_; }
  // How long after the turn's begin the work in hand is done.
  [[nodiscard]] Duration into_turn() const { return spent_; }

 private:
  Duration turn_max_;
  Duration tick_;
  SwitchCost cost_;
  Prng random_;
  // First in, first out: those before next_waiting_ are done with, and those before turn_end_ have
  // their turn.
  std::vector<Waiting> waiting_;
  std::size_t next_waiting_ = 0;
  std::size_t turn_end_ = 0;
  std::size_t most_waiting_ = 0;
  Instant turn_at_ = Instant::max();
  Instant tick_at_;
  Instant busy_until_;
  Duration spent_;
  Duration busy_;
};

}  // namespace tributary::sim
