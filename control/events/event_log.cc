#include "control/events/event_log.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "control/text/utc_text.h"

namespace tributary::control {
namespace {

using std::chrono::system_clock;

std::string time_text(system_clock::time_point at) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch());
  return utc_text(since.count());
}

std::string text_with_job(const Event& event) {
  return (event.job ? "job " + std::to_string(*event.job) + ": " : "") + event.text;
}

}  // namespace

void EventLog::add(Event event) {
  const std::lock_guard lock(mutex_);
  if (sink_) sink_(event.level, text_with_job(event));
  events_.push_back(std::move(event));
  if (events_.size() <= most_) return;
  events_.pop_front();
  ++lost_;
}

std::vector<Event> EventLog::since(system_clock::time_point from) const {
  const std::lock_guard lock(mutex_);
  std::vector<Event> found;
  for (const Event& event : events_)
    if (event.at >= from) found.push_back(event);
  return found;
}

std::uint64_t EventLog::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

ShowAnswer show_events(const EventLog& log, const std::string& which,
                       system_clock::time_point now) {
  auto from = system_clock::time_point::min();
  if (!which.empty()) {
    std::uint32_t seconds = 0;
    const char* const end = which.data() + which.size();
    const auto parsed = std::from_chars(which.data(), end, seconds);
    if (parsed.ec != std::errc{} || parsed.ptr != end)
      throw std::invalid_argument("events of '" + which +
                                  "'; allowed: seconds back from now, 0 to 4294967295");
    from = now - std::chrono::seconds(seconds);
  }
  auto rows = nlohmann::ordered_json::array();
  for (const Event& event : log.since(from))
    rows.push_back(
        {{"time", time_text(event.at)},
         {"level", name_of(event.level)},
         {"kind", event.kind},
         {"job", event.job ? nlohmann::ordered_json(*event.job) : nlohmann::ordered_json()},
         {"text", event.text}});
  ShowAnswer answer(std::move(rows));
  if (const std::uint64_t lost = log.lost(); lost != 0)
    answer.notes.push_back(std::to_string(lost) + " older events are no longer kept");
  return answer;
}

}  // namespace tributary::control
