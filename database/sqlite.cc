#include "database/sqlite.h"

#include <sqlite3.h>

namespace tributary::database {

Sqlite::Sqlite(const std::string& path) : path_(path) {
  try {
    const int code = sqlite3_open_v2(path.c_str(), &connection_,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    if (code != SQLITE_OK) fail(code, "opening it");
    sqlite3_busy_timeout(connection_, kBusyMs);
  } catch (...) {
    sqlite3_close(connection_);
    throw;
  }
}

Sqlite::~Sqlite() {
  sqlite3_close(connection_);
}

void Sqlite::fail(int code, const std::string& doing) const {
  const int primary = code & 0xFF;
  const char* const why =
      connection_ != nullptr ? sqlite3_errmsg(connection_) : sqlite3_errstr(primary);
  throw SqliteError(primary == SQLITE_FULL ? SqliteError::Kind::full : SqliteError::Kind::gone,
                    path_ + ": " + why + " (" + doing + ")");
}

void Sqlite::run(const std::string& sql) {
  const int code = sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code, sql);
}

std::int64_t Sqlite::number(const char* sql) {
  Statement select(*this, sql);
  return select.step() ? select.number(0) : 0;
}

Statement::Statement(const Sqlite& database, const char* sql) : database_(database) {
  const int code = sqlite3_prepare_v2(database.connection_, sql, -1, &statement_, nullptr);
  if (code != SQLITE_OK) database.fail(code, sql);
}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

void Statement::bind(int at, std::int64_t number) {
  sqlite3_bind_int64(statement_, at, number);
}

void Statement::bind_null(int at) {
  sqlite3_bind_null(statement_, at);
}

void Statement::bind_text(int at, std::string_view text) {
  sqlite3_bind_text64(statement_, at, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void Statement::bind_bytes(int at, std::string_view bytes) {
  sqlite3_bind_blob64(statement_, at, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.fail(code, sqlite3_sql(statement_));
  return false;
}

void Statement::reset() {
  sqlite3_reset(statement_);
}

bool Statement::is_null(int at) const {
  return sqlite3_column_type(statement_, at) == SQLITE_NULL;
}

std::int64_t Statement::number(int at) const {
  return sqlite3_column_int64(statement_, at);
}

std::string Statement::text(int at) const {
  const void* const bytes = sqlite3_column_blob(statement_, at);
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, at));
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), size);
}

Transaction::Transaction(Sqlite& database) : database_(database) {
  database.run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(database_.connection_, "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.run("COMMIT");
  open_ = false;
}

}  // namespace tributary::database
