#include "manager/store/sqlite_store.h"

#include <sqlite3.h>

namespace tributary::manager {

// A prepared statement; parameters and columns count from 1 and 0, as SQLite's do.
class SqliteStore::Statement {
 public:
  Statement(const SqliteStore& store, const char* sql) : store_(store) {
    const int code = sqlite3_prepare_v2(store.database_, sql, -1, &statement_, nullptr);
    if (code != SQLITE_OK) store.fail(code, sql);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int at, std::string_view text) {
    sqlite3_bind_blob64(statement_, at, text.data(), text.size(), SQLITE_TRANSIENT);
  }
  void bind(int at, std::uint64_t number) {
    sqlite3_bind_int64(statement_, at, static_cast<sqlite3_int64>(number));
  }
  // False: there are no more rows.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code != SQLITE_DONE) store_.fail(code, sqlite3_sql(statement_));
    return false;
  }
  [[nodiscard]] std::string text(int at) const {
    const void* const bytes = sqlite3_column_blob(statement_, at);
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, at));
    return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
  }
  [[nodiscard]] std::uint64_t number(int at) const {
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, at));
  }

 private:
  const SqliteStore& store_;
  sqlite3_stmt* statement_ = nullptr;
};

// Rolled back unless committed.
class SqliteStore::Transaction {
 public:
  explicit Transaction(SqliteStore& store) : store_(store) { store.run("BEGIN IMMEDIATE"); }
  ~Transaction() {
    if (open_) sqlite3_exec(store_.database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    store_.run("COMMIT");
    open_ = false;
  }

 private:
  SqliteStore& store_;
  bool open_ = true;
};

SqliteStore::SqliteStore(const std::string& path, std::uint32_t most_pages) : path_(path) {
  try {
    const int code = sqlite3_open_v2(path.c_str(), &database_,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    if (code != SQLITE_OK) fail(code, "opening it");
    sqlite3_busy_timeout(database_, 5'000);
    run("PRAGMA journal_mode=WAL");
    run("PRAGMA synchronous=FULL");
    if (most_pages > 0) run(("PRAGMA max_page_count=" + std::to_string(most_pages)).c_str());
    run("CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, value BLOB NOT NULL, "
        "revision INTEGER NOT NULL) WITHOUT ROWID");
    // The revisions of keys that are gone count on: a revision names one value for good.
    run("CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL)");
    run("INSERT OR IGNORE INTO counters VALUES ('term', 0), ('revision', 0)");
    take_term();
  } catch (...) {
    sqlite3_close(database_);
    throw;
  }
}

SqliteStore::~SqliteStore() {
  sqlite3_close(database_);
}

void SqliteStore::fail(int code, const std::string& doing) const {
  const int primary = code & 0xFF;
  const bool full = primary == SQLITE_FULL;
  const char* const why =
      database_ != nullptr ? sqlite3_errmsg(database_) : sqlite3_errstr(primary);
  throw StoreError(full ? StoreError::Kind::full : StoreError::Kind::gone,
                   "store sqlite:" + path_ + ": " + why + " (" + doing + ")");
}

void SqliteStore::run(const char* sql) {
  const int code = sqlite3_exec(database_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code, sql);
}

std::uint64_t SqliteStore::stored_term() {
  Statement select(*this, "SELECT value FROM counters WHERE name = 'term'");
  return select.step() ? select.number(0) : 0;
}

void SqliteStore::take_term() {
  Transaction transaction(*this);
  run("UPDATE counters SET value = value + 1 WHERE name = 'term'");
  const std::uint64_t term = stored_term();
  transaction.commit();
  term_ = term;
}

std::optional<Entry> SqliteStore::get(std::string_view key) {
  Statement select(*this, "SELECT value, revision FROM entries WHERE key = ?1");
  select.bind(1, key);
  if (!select.step()) return std::nullopt;
  return Entry{std::string(key), select.text(0), select.number(1)};
}

std::vector<Entry> SqliteStore::list(std::string_view prefix) {
  Statement select(*this,
                   "SELECT key, value, revision FROM entries "
                   "WHERE key >= ?1 AND substr(key, 1, ?2) = ?1 ORDER BY key");
  select.bind(1, prefix);
  select.bind(2, prefix.size());
  std::vector<Entry> entries;
  while (select.step()) entries.push_back({select.text(0), select.text(1), select.number(2)});
  return entries;
}

std::uint64_t SqliteStore::write_one(const Write& write) {
  const auto there = get(write.key);
  const std::uint64_t revision = there ? there->revision : 0;
  if (revision != write.expected)
    throw StoreError(StoreError::Kind::conflict, "store sqlite:" + path_ + ": key " + write.key +
                                                     " has revision " + std::to_string(revision) +
                                                     ", and not " + std::to_string(write.expected));
  if (!write.value) {
    Statement remove(*this, "DELETE FROM entries WHERE key = ?1");
    remove.bind(1, write.key);
    remove.step();
    return 0;
  }
  run("UPDATE counters SET value = value + 1 WHERE name = 'revision'");
  Statement put(*this,
                "INSERT OR REPLACE INTO entries VALUES (?1, ?2, "
                "(SELECT value FROM counters WHERE name = 'revision'))");
  put.bind(1, write.key);
  put.bind(2, *write.value);
  put.step();
  return get(write.key)->revision;
}

std::vector<std::uint64_t> SqliteStore::commit(std::span<const Write> writes) {
  Transaction transaction(*this);
  if (const std::uint64_t now = stored_term(); now != term_)
    throw StoreError(StoreError::Kind::fenced,
                     "store sqlite:" + path_ + ": a manager with term " + std::to_string(now) +
                         " has opened it; this one has " + std::to_string(term_));
  std::vector<std::uint64_t> revisions;
  for (const Write& write : writes) revisions.push_back(write_one(write));
  transaction.commit();
  return revisions;
}

}  // namespace tributary::manager
