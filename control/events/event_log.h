// Event log of a daemon: keeps the latest events in a bounded ring, for `tributary events`, and
// hands a line of each one to a sink, which writes the log.
//
// Any thread, at any time; the sink is called by one thread at a time, in the order of the events.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/text/show_answer.h"
#include "core/log_level.h"

namespace tributary::control {

struct Event {
  std::chrono::system_clock::time_point at;
  LogLevel level = LogLevel::notice;
  std::string kind;  // "epoch", "host", "drops", "switch"
  std::optional<std::uint32_t> job;
  std::string text;  // one line, without the job's number
};

class EventLog {
 public:
  static constexpr std::size_t kMostEvents = 4096;
  using Sink = std::function<void(LogLevel level, const std::string& line)>;

  explicit EventLog(Sink sink, std::size_t most = kMostEvents)
      : sink_(std::move(sink)), most_(most) {}

  void add(Event event);
  // The oldest first.
  [[nodiscard]] std::vector<Event> since(std::chrono::system_clock::time_point from) const;
  // How many events the ring has lost for lack of room.
  [[nodiscard]] std::uint64_t lost() const;

 private:
  const Sink sink_;
  const std::size_t most_;
  mutable std::mutex mutex_;
  std::deque<Event> events_;
  std::uint64_t lost_ = 0;
};

// `show events`: rows {"time","level","kind","job","text"}, and a note where older ones are lost.
// `which` is "" or "SECONDS", back from now. Throws std::invalid_argument.
ShowAnswer show_events(const EventLog& log, const std::string& which,
                       std::chrono::system_clock::time_point now);

}  // namespace tributary::control
