// The history on disk: a SQLite file, written ahead (WAL) and not flushed with each write, so that
// power loss may take the latest rows. It stands open for other programs that read it.
//
//   times      when rows were written, in ms since 1970
//   links      a row of each link that was reported since the time before
//   decisions  paths that changed
//
// A file of another program, of another format, or a damaged one is refused.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "database/sqlite.h"
#include "tools/telemetryd/link_sampler.h"

namespace tributary::telemetryd {

struct DecisionRow {
  std::int64_t time_ms = 0;  // since 1970
  std::string from;
  std::string to;
  std::string explanation;
};

// From `from_ms` on and before `to_ms`, cut into steps.
struct HistoryRange {
  std::int64_t from_ms = 0;
  std::int64_t to_ms = 0;
  std::int64_t step_ms = 1000;
};

// The rows of a step: latency and p50 on average; p99, utilisation and queue at most; drops in all.
struct HistoryStep {
  std::int64_t begin_ms = 0;
  std::int64_t rows = 0;
  LinkRow link;
};

// Every function throws database::SqliteError.
class HistoryFile {
 public:
  static constexpr std::int64_t kFormat = 1;
  // A turn forgets so many times, and no more: what is much too old takes several turns.
  static constexpr std::int64_t kMostForgotten = 60;

  // Creates the file if there is none. `most_pages`: of 4 KiB; 0: as many as the disk has. Throws
  // std::runtime_error if the file is not a history of this format.
  explicit HistoryFile(const std::string& path, std::uint32_t most_pages = 0);

  void write(std::int64_t time_ms, std::span<const LinkRow> links,
             std::span<const DecisionRow> decisions);
  // Deletes what is older.
  void forget(std::int64_t before_ms);

 private:
  void open(std::uint32_t most_pages);
  void create();
  void write_links(std::int64_t time_ms, std::span<const LinkRow> links);
  void write_decisions(std::span<const DecisionRow> decisions);

  database::Sqlite database_;
};

// Reads while another connection writes.
class HistoryReader {
 public:
  // The file must exist.
  explicit HistoryReader(const std::string& path);

  // How often rows were written in this time; `most` if it is more often.
  [[nodiscard]] std::int64_t times(const HistoryRange& range, std::int64_t most);
  // Steps without rows are left out.
  [[nodiscard]] std::vector<HistoryStep> link(telemetry::LinkKey key, const HistoryRange& range);
  // The latest ones first, at most `most`.
  [[nodiscard]] std::vector<DecisionRow> decisions(const HistoryRange& range, std::int64_t most);

 private:
  database::Sqlite database_;
};

}  // namespace tributary::telemetryd
