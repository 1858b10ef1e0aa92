// A job's drain at one switch (docs/protocol/drains.md): the running epoch ends after an op that
// all ranks finish, and they go on in the next one.
//
//   none ──▶ wanted ──ask──▶ asking ──all children have answered, end──▶ ending ──all left──▶ none
//            (not the root)    └───────────── the epoch is aborted ────────┴──▶ failed
//
// Pure state: engine_drain.cc sends the packets. It lasts from one START to the next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/time.h"
#include "core/wire/drain.h"

namespace tributary::aggregator {

// Cause for which a job's next epoch is held back: a change of the configuration that is made as
// soon as the epoch is over, or the operator, who lets it begin again.
enum class Holder : std::uint8_t { change = 1, operator_ = 2 };

struct Drain {
  enum class Phase : std::uint8_t { none, wanted, asking, ending, failed };

  Phase phase = Phase::none;
  bool answered = false;  // asking: all children below have, and the switch above knows
  // No epoch begins here while some bit is set: one for each Holder.
  std::uint8_t held_by = 0;
  bool quit = false;  // a child has left the epoch for good: none goes on from it
  std::uint64_t id = 0;
  std::uint32_t op = 0;  // asking: the largest answer so far; ending: the first op that is not in
  std::uint32_t by = 0;  // id of the switch that wants it
  Instant next_word;
  Duration period;
  // Since then callers wait; of the drain that the epoch before ended by, too.
  std::optional<Instant> paused_since;
  wire::Resumption forming;        // of the children that have joined the epoch that forms
  std::uint32_t forming_size = 0;  // the ranks that these count

  void hold(Holder who, bool on) {
    const auto bit = static_cast<std::uint8_t>(who);
    held_by = static_cast<std::uint8_t>(on ? held_by | bit : held_by & ~bit);
  }
  [[nodiscard]] bool is_held(Holder who) const {
    return (held_by & static_cast<std::uint8_t>(who)) != 0;
  }
  [[nodiscard]] bool under_way() const { return phase == Phase::asking || phase == Phase::ending; }
  // A child that says this has done its part.
  [[nodiscard]] bool ends_at(const wire::Resumption& r) const {
    return phase == Phase::ending && r.id == id && r.op == op;
  }
  void enter(Phase next, Instant now) {
    phase = next;
    period = kFirstPeriod;
    next_word = now;
  }
  // The word of this phase is due; the next time later.
  bool speaks(Instant now) {
    if (now < next_word) return false;
    next_word = now + period;
    period = std::min(period * 2, kLastPeriod);
    return true;
  }

 private:
  static constexpr Duration kFirstPeriod = Duration::ms(5);
  static constexpr Duration kLastPeriod = Duration::ms(160);
};

}  // namespace tributary::aggregator
