// Turns two looks at a switch into the events between them. Pure: what it sees and the time are
// arguments.
//
//   epoch of a job began, or ended and why, or was drained and how long callers waited · another
//   completion host serves a shard · drops of a port for a reason that had none within the last
//   minute · a child that is late in every op
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "control/events/event_log.h"
#include "control/events/late_children.h"

namespace tributary::control {

// One look. Jobs by id and plane; epochs are compared for equality alone, as they wrap.
struct SwitchState {
  struct Job {
    std::uint32_t id = 0;
    std::uint8_t plane = 0;
    std::string name;
    bool running = false;
    std::uint16_t epoch = 0;
    std::uint32_t workers = 0;
    std::uint64_t aborts = 0;
    std::string last_abort;              // its reason; "": none
    std::vector<std::uint32_t> missing;  // ranks that it names
    std::uint64_t drains = 0;            // epochs that ended after an op that all ranks finished
    std::uint32_t drained_by = 0;        // of the last: the switch that wanted it,
    std::uint32_t drained_at = 0;        // and how many ops the epoch had
    std::uint64_t pause_us = 0;          // of callers, before the epoch that runs
  };
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
  std::vector<Job> jobs;
  std::vector<Seat> seats;
  std::vector<Drops> drops;
  std::vector<ChildTimes> children = {};
};

class StateDiffer {
 public:
  static constexpr auto kQuiet = std::chrono::minutes(1);

  // Events since the look before. The first look reports what runs, and what was dropped already.
  std::vector<Event> look(const SwitchState& state, std::chrono::system_clock::time_point now);

 private:
  struct Known {
    bool running = false;
    std::uint16_t epoch = 0;
    std::uint64_t aborts = 0;
    std::uint64_t drains = 0;
    bool resumes = false;  // the epoch that begins next goes on from one that was drained
  };
  struct Dropped {
    std::uint64_t packets = 0;
    std::chrono::system_clock::time_point grew;  // the latest look that saw more of them
  };
  void look_at_job(const SwitchState::Job& job, std::vector<Event>& out);
  void look_at_seat(const SwitchState::Seat& seat, std::vector<Event>& out);
  void look_at_drops(const SwitchState::Drops& drops, std::vector<Event>& out);

  std::chrono::system_clock::time_point now_;
  std::map<std::pair<std::uint32_t, std::uint8_t>, Known> jobs_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> hosts_;
  std::map<std::pair<std::string, std::string>, Dropped> drops_;
  LateChildren late_;
};

}  // namespace tributary::control
