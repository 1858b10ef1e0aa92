// Looks at the running switch once a second, and tells the log what has happened since. A thread of
// its own; a look asks the packet loops what `show hosts` asks them, and for records of epochs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "control/events/event_log.h"
#include "control/events/state_differ.h"
#include "dataplane/host/periodic_thread.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

// Looks at a switch, each time from where the look before ended. One thread at a time.
class SwitchLook {
 public:
  explicit SwitchLook(dataplane::Switch& sw);
  // Throws std::runtime_error when a packet loop does not answer; the next look has it all.
  SwitchState operator()();

 private:
  void look_at_epochs(SwitchState& state, std::vector<std::uint64_t>& read);

  dataplane::Switch& switch_;
  std::vector<std::uint64_t> read_;  // records of epochs, by lcore
};

class EventWatch {
 public:
  EventWatch(std::function<SwitchState()> look, EventLog& log);
  ~EventWatch();
  EventWatch(const EventWatch&) = delete;
  EventWatch& operator=(const EventWatch&) = delete;

 private:
  void look_once();

  const std::function<SwitchState()> look_;
  EventLog& log_;
  StateDiffer differ_;
  std::optional<dataplane::PeriodicThread> thread_;  // last: it uses the others
};

}  // namespace tributary::control
