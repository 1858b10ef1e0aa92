// Looks at the running switch once a second, and tells the log what has happened since. A
// thread of its own; a look asks the packet loops what `show jobs` and `show hosts` ask them.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "control/events/event_log.h"
#include "control/events/state_differ.h"
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
  void run();
  void look_once();

  const std::function<SwitchState()> look_;
  EventLog& log_;
  StateDiffer differ_;
  std::mutex mutex_;
  std::condition_variable stop_now_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tributary::control
