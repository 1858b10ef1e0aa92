// SQLite files: a connection, its statements and transactions, and errors that name the file.
//
// One thread at a time uses a connection with its statements. SQLite waits up to kBusyMs for
// another connection's lock before a statement fails.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tributary::database {

class SqliteError : public std::runtime_error {
 public:
  enum class Kind : std::uint8_t {
    full,  // no room for what was written
    gone   // the file cannot be read or written
  };
  SqliteError(Kind kind, const std::string& what) : std::runtime_error(what), kind_(kind) {}
  [[nodiscard]] Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

// Every function throws SqliteError: "FILE: why (what was done)".
class Sqlite {
 public:
  static constexpr int kBusyMs = 5000;

  // Creates the file if there is none.
  explicit Sqlite(const std::string& path);
  ~Sqlite();
  Sqlite(const Sqlite&) = delete;
  Sqlite& operator=(const Sqlite&) = delete;

  void run(const std::string& sql);
  // The first column of the first row; 0 if there is no row.
  [[nodiscard]] std::int64_t number(const char* sql);

 private:
  friend class Statement;
  friend class Transaction;
  [[noreturn]] void fail(int code, const std::string& doing) const;

  const std::string path_;
  sqlite3* connection_ = nullptr;
};

// Parameters count from 1 and columns from 0, as SQLite's do.
class Statement {
 public:
  Statement(const Sqlite& database, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int at, std::int64_t number);
  void bind_null(int at);
  void bind_text(int at, std::string_view text);
  void bind_bytes(int at, std::string_view bytes);
  // False: there are no more rows.
  bool step();
  // Before the next run. Parameters keep their values.
  void reset();

  [[nodiscard]] bool is_null(int at) const;
  [[nodiscard]] std::int64_t number(int at) const;
  [[nodiscard]] std::string text(int at) const;  // bytes, too

 private:
  const Sqlite& database_;
  sqlite3_stmt* statement_ = nullptr;
};

// Rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(Sqlite& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Sqlite& database_;
  bool open_ = true;
};

}  // namespace tributary::database
