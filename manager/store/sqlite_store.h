// A store in one SQLite file, for one machine. Its log is written ahead (WAL) and flushed with each
// commit: what was committed survives kill -9 and power loss.
#pragma once

#include "manager/store/store.h"

struct sqlite3;

namespace tributary::manager {

class SqliteStore : public Store {
 public:
  // Creates the file where there is none. `most_pages`: of 4 KiB, that the file may have; 0: as
  // many as the disk has. Throws StoreError.
  explicit SqliteStore(const std::string& path, std::uint32_t most_pages = 0);
  ~SqliteStore() override;
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  [[nodiscard]] std::uint64_t term() const override { return term_; }
  [[nodiscard]] std::optional<Entry> get(std::string_view key) override;
  [[nodiscard]] std::vector<Entry> list(std::string_view prefix) override;

 private:
  class Statement;
  class Transaction;
  std::vector<std::uint64_t> commit(std::span<const Write> writes) override;
  void run(const char* sql);
  void take_term();
  [[nodiscard]] std::uint64_t stored_term();
  [[nodiscard]] std::uint64_t write_one(const Write& write);
  [[noreturn]] void fail(int code, const std::string& doing) const;

  std::string path_;
  sqlite3* database_ = nullptr;
  std::uint64_t term_ = 0;
};

}  // namespace tributary::manager
