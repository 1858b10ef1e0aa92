// Maps a job id to the job's data: open addressing in one array, filled once. Half of it stays
// empty, so that most look-ups touch one entry.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "config/plan/engine_tables.h"

namespace tributary::aggregator {

template <typename T>
class JobIndex {
 public:
  // At least two entries: a shift by the hash's whole width is not defined.
  explicit JobIndex(std::size_t jobs)
      : entries_(config::index_entries(jobs)), shift_(64 - std::countr_zero(entries_.size())) {}

  // Returns false if the id is already there.
  bool insert(std::uint32_t id, T* job) {
    std::size_t i = home(id);
    for (; entries_[i].job != nullptr; i = (i + 1) & (entries_.size() - 1))
      if (entries_[i].id == id) return false;
    entries_[i] = {id, job};
    return true;
  }
  // nullptr when there is none.
  [[nodiscard]] T* find(std::uint32_t id) const {
    for (std::size_t i = home(id);; i = (i + 1) & (entries_.size() - 1)) {
      const Entry& e = entries_[i];
      if (e.job == nullptr || e.id == id) return e.job;
    }
  }
  [[nodiscard]] std::size_t table_bytes() const { return entries_.size() * sizeof(Entry); }

 private:
  struct Entry {
    std::uint32_t id = 0;
    T* job = nullptr;
  };
  static_assert(sizeof(Entry) == config::kIndexEntryBytes);
  [[nodiscard]] std::size_t home(std::uint32_t id) const {
    return static_cast<std::size_t>((id * 0x9E3779B97F4A7C15ULL) >> shift_);
  }
  std::vector<Entry> entries_;
  int shift_;
};

}  // namespace tributary::aggregator
