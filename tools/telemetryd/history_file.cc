#include "tools/telemetryd/history_file.h"

#include <algorithm>
#include <stdexcept>

namespace tributary::telemetryd {
namespace {

using database::Statement;
using database::Transaction;
using Value = std::optional<std::uint64_t>;

constexpr std::int64_t kApplication = 0x54725468;  // "TrTh"
constexpr int kBusyMs = 1000;                      // a turn waits so long for another connection

void bind(Statement& to, int at, const Value& value) {
  if (value)
    to.bind(at, static_cast<std::int64_t>(*value));
  else
    to.bind_null(at);
}

Value value(const Statement& from, int at) {
  if (from.is_null(at)) return std::nullopt;
  return static_cast<std::uint64_t>(from.number(at));
}

void set_busy_time(database::Sqlite& database) {
  database.run("PRAGMA busy_timeout=" + std::to_string(kBusyMs));
}

}  // namespace

HistoryFile::HistoryFile(const std::string& path, std::uint32_t most_pages) try : database_(path) {
  open(most_pages);
} catch (const database::SqliteError& error) {
  throw std::runtime_error(std::string("history ") + error.what());
} catch (const std::runtime_error& error) {
  throw std::runtime_error("history " + path + ": " + error.what());
}

void HistoryFile::open(std::uint32_t most_pages) {
  const std::int64_t application = database_.number("PRAGMA application_id");
  const bool is_new =
      application == 0 && database_.number("SELECT count(*) FROM sqlite_master") == 0;
  if (!is_new && application != kApplication)
    throw std::runtime_error("is a database of another program; name a file that is a history");
  const std::int64_t format = database_.number("PRAGMA user_version");
  if (!is_new && format != kFormat)
    throw std::runtime_error("has format " + std::to_string(format) + "; this program reads " +
                             std::to_string(kFormat));
  set_busy_time(database_);
  database_.run("PRAGMA journal_mode=WAL");
  database_.run("PRAGMA synchronous=NORMAL");
  if (most_pages > 0) database_.run("PRAGMA max_page_count=" + std::to_string(most_pages));
  if (is_new) create();
  // Damage at either end of the rows is found now.
  static_cast<void>(database_.number("SELECT min(time) FROM links"));
  static_cast<void>(database_.number("SELECT max(time) FROM links"));
}

void HistoryFile::create() {
  Transaction transaction(database_);
  database_.run("PRAGMA application_id=" + std::to_string(kApplication));
  database_.run("PRAGMA user_version=" + std::to_string(kFormat));
  database_.run("CREATE TABLE times (time INTEGER PRIMARY KEY)");
  database_.run(
      "CREATE TABLE links (time INTEGER, node INTEGER, port INTEGER, latency_ns INTEGER, "
      "p50_ns INTEGER, p99_ns INTEGER, utilisation_ppm INTEGER, queue INTEGER, "
      "dropped INTEGER NOT NULL, PRIMARY KEY (time, node, port)) WITHOUT ROWID");
  database_.run(
      "CREATE TABLE decisions (time INTEGER NOT NULL, source TEXT NOT NULL, "
      "destination TEXT NOT NULL, explanation TEXT NOT NULL)");
  database_.run("CREATE INDEX decisions_by_time ON decisions (time)");
  transaction.commit();
}

void HistoryFile::write(std::int64_t time_ms, std::span<const LinkRow> links,
                        std::span<const DecisionRow> decisions) {
  Transaction transaction(database_);
  // The clock may have been set back: the later rows stay.
  Statement time(database_, "INSERT OR REPLACE INTO times VALUES (?1)");
  time.bind(1, time_ms);
  time.step();
  write_links(time_ms, links);
  write_decisions(decisions);
  transaction.commit();
}

void HistoryFile::write_links(std::int64_t time_ms, std::span<const LinkRow> links) {
  Statement insert(database_,
                   "INSERT OR REPLACE INTO links VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  insert.bind(1, time_ms);
  for (const LinkRow& row : links) {
    insert.bind(2, std::int64_t{row.node});
    insert.bind(3, std::int64_t{row.port});
    bind(insert, 4, row.latency_ns);
    bind(insert, 5, row.p50_ns);
    bind(insert, 6, row.p99_ns);
    bind(insert, 7, row.utilisation_ppm);
    bind(insert, 8, row.queue);
    insert.bind(9, static_cast<std::int64_t>(row.dropped));
    insert.step();
    insert.reset();
  }
}

void HistoryFile::write_decisions(std::span<const DecisionRow> decisions) {
  Statement insert(database_, "INSERT INTO decisions VALUES (?1, ?2, ?3, ?4)");
  for (const DecisionRow& row : decisions) {
    insert.bind(1, row.time_ms);
    insert.bind_text(2, row.from);
    insert.bind_text(3, row.to);
    insert.bind_text(4, row.explanation);
    insert.step();
    insert.reset();
  }
}

void HistoryFile::forget(std::int64_t before_ms) {
  Statement oldest(database_, "SELECT time FROM times ORDER BY time LIMIT ?1");
  oldest.bind(1, kMostForgotten);
  std::optional<std::int64_t> last;
  while (oldest.step() && oldest.number(0) < before_ms) last = oldest.number(0);
  oldest.reset();
  if (!last) return;
  Transaction transaction(database_);
  for (const char* const sql :
       {"DELETE FROM links WHERE time <= ?1", "DELETE FROM times WHERE time <= ?1",
        "DELETE FROM decisions WHERE time <= ?1"}) {
    Statement remove(database_, sql);
    remove.bind(1, *last);
    remove.step();
  }
  transaction.commit();
}

HistoryReader::HistoryReader(const std::string& path) : database_(path) {
  set_busy_time(database_);
  database_.run("PRAGMA query_only=ON");
}

std::int64_t HistoryReader::times(const HistoryRange& range, std::int64_t most) {
  Statement count(database_,
                  "SELECT count(*) FROM "
                  "(SELECT 1 FROM times WHERE time >= ?1 AND time < ?2 LIMIT ?3)");
  count.bind(1, range.from_ms);
  count.bind(2, range.to_ms);
  count.bind(3, most);
  count.step();
  return count.number(0);
}

std::vector<HistoryStep> HistoryReader::link(telemetry::LinkKey key, const HistoryRange& range) {
  // A search for each time, whatever else was reported then. CROSS JOIN keeps this order.
  Statement select(database_,
                   "SELECT (times.time - ?1) / ?3 AS step, count(*), avg(latency_ns), avg(p50_ns), "
                   "max(p99_ns), max(utilisation_ppm), max(queue), sum(dropped) "
                   "FROM times CROSS JOIN links "
                   "ON links.time = times.time AND links.node = ?4 AND links.port = ?5 "
                   "WHERE times.time >= ?1 AND times.time < ?2 GROUP BY step ORDER BY step");
  select.bind(1, range.from_ms);
  select.bind(2, range.to_ms);
  select.bind(3, range.step_ms);
  select.bind(4, std::int64_t{key.node});
  select.bind(5, std::int64_t{key.port});
  std::vector<HistoryStep> steps;
  while (select.step()) {
    HistoryStep step{range.from_ms + select.number(0) * range.step_ms, select.number(1), {}};
    step.link.node = key.node;
    step.link.port = key.port;
    step.link.latency_ns = value(select, 2);
    step.link.p50_ns = value(select, 3);
    step.link.p99_ns = value(select, 4);
    step.link.utilisation_ppm = value(select, 5);
    step.link.queue = value(select, 6);
    step.link.dropped = value(select, 7).value_or(0);
    steps.push_back(step);
  }
  return steps;
}

std::vector<DecisionRow> HistoryReader::decisions(const HistoryRange& range, std::int64_t most) {
  Statement select(database_,
                   "SELECT time, source, destination, explanation FROM decisions "
                   "WHERE time >= ?1 AND time < ?2 ORDER BY time DESC, rowid DESC LIMIT ?3");
  select.bind(1, range.from_ms);
  select.bind(2, range.to_ms);
  select.bind(3, most);
  std::vector<DecisionRow> rows;
  while (select.step())
    rows.push_back({select.number(0), select.text(1), select.text(2), select.text(3)});
  return rows;
}

}  // namespace tributary::telemetryd
