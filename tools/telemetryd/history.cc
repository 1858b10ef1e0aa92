#include "tools/telemetryd/history.h"

#include <utility>

namespace tributary::telemetryd {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

}  // namespace

History::History(const HistoryOptions& options)
    : options_(options), file_(options.file, options.most_pages) {}

void History::note(DecisionRow decision) {
  const std::lock_guard lock(mutex_);
  if (waiting_.size() == kMostWaiting)
    ++counters_.lost_decisions;
  else
    waiting_.push_back(std::move(decision));
}

HistoryCounters History::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

std::vector<DecisionRow> History::take_waiting() {
  const std::lock_guard lock(mutex_);
  return std::exchange(waiting_, {});
}

void History::count_missed(Instant now) {
  if (last_turn_) {
    const std::int64_t turns = (now - *last_turn_).to_ns() / options_.every.to_ns();
    const std::lock_guard lock(mutex_);
    if (turns > 1) counters_.missed_turns += static_cast<std::uint64_t>(turns - 1);
  }
  last_turn_ = now;
}

std::optional<std::string> History::write(const std::vector<LinkRow>& rows, Instant now,
                                          std::int64_t unix_ms) {
  count_missed(now);
  const std::vector<DecisionRow> decisions = take_waiting();
  std::string failure;
  try {
    file_.forget(unix_ms - options_.keep.to_ns() / kNsPerMs);
    file_.write(unix_ms, rows, decisions);
  } catch (const database::SqliteError& error) {
    failure = error.what();
  }
  const std::lock_guard lock(mutex_);
  if (failure.empty()) {
    counters_.rows += rows.size();
    counters_.decisions += decisions.size();
    if (std::exchange(failing_, false)) return "history " + options_.file + ": written again";
    return std::nullopt;
  }
  ++counters_.failed_turns;
  counters_.lost_decisions += decisions.size();
  if (std::exchange(failing_, true)) return std::nullopt;
  return "history " + failure + "; rows are lost until it can be written";
}

}  // namespace tributary::telemetryd
