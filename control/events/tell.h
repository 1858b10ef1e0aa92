// Puts lines about the switch as a whole into the event log. Any thread.
#pragma once

#include <chrono>
#include <string>

#include "control/events/event_log.h"

namespace tributary::control {

class Tell {
 public:
  explicit Tell(EventLog& log) : log_(log) {}
  void operator()(const std::string& line) const { add(LogLevel::notice, line); }
  void warn(const std::string& line) const { add(LogLevel::warning, line); }

 private:
  void add(LogLevel level, const std::string& line) const {
    log_.add({std::chrono::system_clock::now(), level, "switch", {}, line});
  }
  EventLog& log_;
};

}  // namespace tributary::control
