#include "manager/store/sqlite_store.h"

namespace tributary::manager {
namespace {

using database::SqliteError;
using database::Statement;
using database::Transaction;

constexpr const char* kStoredTerm = "SELECT value FROM counters WHERE name = 'term'";

std::uint64_t unsigned_of(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

// Does it; SQLite's errors become the store's.
template <typename Action>
auto translated(Action action) {
  try {
    return action();
  } catch (const SqliteError& error) {
    const bool full = error.kind() == SqliteError::Kind::full;
    throw StoreError(full ? StoreError::Kind::full : StoreError::Kind::gone,
                     std::string("store sqlite:") + error.what());
  }
}

}  // namespace

SqliteStore::SqliteStore(const std::string& path, std::uint32_t most_pages)
    : path_(path),
      lock_(path + ".lock"),
      database_(translated([&] { return database::Sqlite(path); })) {
  translated([&] { create(most_pages); });
}

void SqliteStore::create(std::uint32_t most_pages) {
  database_.run("PRAGMA journal_mode=WAL");
  database_.run("PRAGMA synchronous=FULL");
  if (most_pages > 0) database_.run("PRAGMA max_page_count=" + std::to_string(most_pages));
  database_.run(
      "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, value BLOB NOT NULL, "
      "revision INTEGER NOT NULL) WITHOUT ROWID");
  // The revisions of keys that are gone count on: a revision names one value for good.
  database_.run(
      "CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL)");
  database_.run("INSERT OR IGNORE INTO counters VALUES ('term', 0), ('revision', 0)");
  take_term();
}

void SqliteStore::take_term() {
  Transaction transaction(database_);
  database_.run("UPDATE counters SET value = value + 1 WHERE name = 'term'");
  const std::uint64_t term = unsigned_of(database_.number(kStoredTerm));
  transaction.commit();
  term_ = term;
}

std::optional<Entry> SqliteStore::entry(std::string_view key) const {
  Statement select(database_, "SELECT value, revision FROM entries WHERE key = ?1");
  select.bind_bytes(1, key);
  if (!select.step()) return std::nullopt;
  return Entry{std::string(key), select.text(0), unsigned_of(select.number(1))};
}

std::optional<Entry> SqliteStore::get(std::string_view key) {
  const std::lock_guard lock(mutex_);
  return translated([&] { return entry(key); });
}

std::vector<Entry> SqliteStore::list(std::string_view prefix) {
  const std::lock_guard lock(mutex_);
  return translated([&] {
    Statement select(database_,
                     "SELECT key, value, revision FROM entries "
                     "WHERE key >= ?1 AND substr(key, 1, ?2) = ?1 ORDER BY key");
    select.bind_bytes(1, prefix);
    select.bind(2, static_cast<std::int64_t>(prefix.size()));
    std::vector<Entry> entries;
    while (select.step())
      entries.push_back({select.text(0), select.text(1), unsigned_of(select.number(2))});
    return entries;
  });
}

void SqliteStore::put(const Write& write) {
  database_.run("UPDATE counters SET value = value + 1 WHERE name = 'revision'");
  Statement put(database_,
                "INSERT OR REPLACE INTO entries VALUES (?1, ?2, "
                "(SELECT value FROM counters WHERE name = 'revision'))");
  put.bind_bytes(1, write.key);
  put.bind_bytes(2, *write.value);
  put.step();
}

std::uint64_t SqliteStore::write_one(const Write& write) {
  const auto there = entry(write.key);
  const std::uint64_t revision = there ? there->revision : 0;
  if (revision != write.expected)
    throw StoreError(StoreError::Kind::conflict, "store sqlite:" + path_ + ": key " + write.key +
                                                     " has revision " + std::to_string(revision) +
                                                     ", and not " + std::to_string(write.expected));
  if (!write.value) {
    Statement remove(database_, "DELETE FROM entries WHERE key = ?1");
    remove.bind_bytes(1, write.key);
    remove.step();
    return 0;
  }
  put(write);
  return entry(write.key)->revision;
}

void SqliteStore::check() {
  const std::lock_guard lock(mutex_);
  check_term();
}

void SqliteStore::check_term() {
  const auto now = translated([&] { return unsigned_of(database_.number(kStoredTerm)); });
  if (now != term_)
    throw StoreError(StoreError::Kind::fenced,
                     "store sqlite:" + path_ + ": a manager with term " + std::to_string(now) +
                         " has opened it; this one has " + std::to_string(term_));
}

std::vector<std::uint64_t> SqliteStore::commit(std::span<const Write> writes) {
  const std::lock_guard lock(mutex_);
  return translated([&] {
    Transaction transaction(database_);
    check_term();
    std::vector<std::uint64_t> revisions;
    for (const Write& write : writes) revisions.push_back(write_one(write));
    transaction.commit();
    return revisions;
  });
}

}  // namespace tributary::manager
