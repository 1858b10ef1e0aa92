// A store in one SQLite file, for one machine. Its log is written ahead (WAL) and flushed with each
// commit: what was committed survives kill -9 and power loss. Any thread.
//
// One manager has it open: a lock on FILE.lock, which ends with its process, refuses a second one.
// The term fences managers where that lock is of no use: a file system without locks, a lock file
// that was deleted.
#pragma once

#include <mutex>

#include "database/sqlite.h"
#include "manager/store/lock_file.h"
#include "manager/store/store.h"

namespace tributary::manager {

class SqliteStore : public Store {
 public:
  // Creates the file where there is none. `most_pages`: of 4 KiB, that the file may have; 0: as
  // many as the disk has. Throws StoreError: `held` while another manager has it open.
  explicit SqliteStore(const std::string& path, std::uint32_t most_pages = 0);

  [[nodiscard]] std::uint64_t term() const override { return term_; }
  [[nodiscard]] std::optional<Entry> get(std::string_view key) override;
  [[nodiscard]] std::vector<Entry> list(std::string_view prefix) override;
  void check() override;

 private:
  std::vector<std::uint64_t> commit(std::span<const Write> writes) override;
  void create(std::uint32_t most_pages);
  void take_term();
  void check_term();
  [[nodiscard]] std::optional<Entry> entry(std::string_view key) const;
  [[nodiscard]] std::uint64_t write_one(const Write& write);
  void put(const Write& write);

  std::string path_;
  LockFile lock_;     // before the file is touched
  std::mutex mutex_;  // one thread at a time uses the connection
  database::Sqlite database_;
  std::uint64_t term_ = 0;
};

}  // namespace tributary::manager
