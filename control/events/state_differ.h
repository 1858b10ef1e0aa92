// Turns two looks at a switch into the events between them. Pure: what it sees and the time are
// arguments.
//
//   epoch of a job began, or ended and why (epoch_lines.h) · another completion host serves a shard
//   · drops of a port for a reason that had none within the last minute · a child that is late in
//   every op
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "control/events/epoch_lines.h"
#include "control/events/event_log.h"
#include "control/events/late_children.h"

namespace tributary::control {

// One look.
struct SwitchState {
  struct Seat {  // which host serves a shard
    std::uint32_t job = 0;
    std::uint32_t shard = 0;
    std::string host;
    std::string why;  // it was chosen
  };
  struct Drops {
    std::string port;
    std::string reason;
    std::uint64_t packets = 0;
  };
  EpochLines::Names jobs = {};         // of the configuration
  std::vector<SeenEpoch> epochs = {};  // what has begun or ended since the look before
  bool whole = true;                   // all loops were asked
  std::vector<Seat> seats = {};
  std::vector<Drops> drops = {};
  std::vector<ChildTimes> children = {};
};

class StateDiffer {
 public:
  static constexpr auto kQuiet = std::chrono::minutes(1);

  // Events since the look before. The first look reports what was dropped already.
  std::vector<Event> look(const SwitchState& state, std::chrono::system_clock::time_point now);

 private:
  struct Dropped {
    std::uint64_t packets = 0;
    std::chrono::system_clock::time_point grew;  // the latest look that saw more of them
  };
  void look_at_seat(const SwitchState::Seat& seat, std::vector<Event>& out);
  void look_at_drops(const SwitchState::Drops& drops, std::vector<Event>& out);

  std::chrono::system_clock::time_point now_;
  EpochLines epochs_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> hosts_;
  std::map<std::pair<std::string, std::string>, Dropped> drops_;
  LateChildren late_;
};

}  // namespace tributary::control
