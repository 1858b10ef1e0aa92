// Keeps the history: what each link did, a row every so often, and each change of a path.
//
//   record table ──sample()──▶ rows ──write()──▶ SQLite file ◀──reads── HTTP thread
//   path changes ──note()──▶ waiting ───┘
//
// One thread samples and writes. The table's mutex is held for the sample alone, so a slow disk
// makes this thread late and holds nothing else: turns that it misses are counted, and so is what a
// full disk does not take.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "tools/telemetryd/history_file.h"
#include "tools/telemetryd/link_sampler.h"

namespace tributary::telemetryd {

struct HistoryOptions {
  std::string file;
  Duration keep = Duration::seconds(24 * 3600);
  Duration every = Duration::seconds(1);
  std::uint32_t most_pages = 0;  // of 4 KiB; 0: as many as the disk has
};

struct HistoryCounters {
  std::uint64_t rows = 0;
  std::uint64_t decisions = 0;
  std::uint64_t missed_turns = 0;    // while an earlier one took its time
  std::uint64_t failed_turns = 0;    // that wrote nothing
  std::uint64_t lost_decisions = 0;  // of failed turns, and beyond kMostWaiting
};

class History {
 public:
  static constexpr std::size_t kMostWaiting = 1024;

  // Opens the file. Throws std::runtime_error.
  explicit History(const HistoryOptions& options);

  // Any thread.
  void note(DecisionRow decision);
  [[nodiscard]] HistoryCounters counters() const;
  [[nodiscard]] const HistoryOptions& options() const { return options_; }

  // One thread; sample() then write(), each turn.
  std::vector<LinkRow> sample(const telemetry::RecordTable::Links& links) {
    return sampler_.sample(links);
  }
  // Writes, and forgets what is too old. Returns what the log is to say: that writing begins to
  // fail, or works again.
  std::optional<std::string> write(const std::vector<LinkRow>& rows, Instant now,
                                   std::int64_t unix_ms);

 private:
  std::vector<DecisionRow> take_waiting();
  void count_missed(Instant now);

  const HistoryOptions options_;
  HistoryFile file_;
  LinkSampler sampler_;
  std::optional<Instant> last_turn_;
  bool failing_ = false;
  mutable std::mutex mutex_;  // of all that follows
  std::vector<DecisionRow> waiting_;
  HistoryCounters counters_;
};

}  // namespace tributary::telemetryd
