// Looks at the running switch once a second, and tells the log what has happened since. A
// thread of its own; a look asks the packet loops what `show jobs` and `show hosts` ask them.
#pragma once

#include <functional>
#include <optional>

#include "control/events/event_log.h"
#include "control/events/state_differ.h"
#include "dataplane/host/periodic_thread.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

// Throws std::runtime_error when a packet loop does not answer.
SwitchState look_at(dataplane::Switch& sw);

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
