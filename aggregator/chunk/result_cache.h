// Results that every child has acknowledged, by (job, op, chunk) (C4): as many as there are spare
// buffers of their size; the oldest is evicted first. Results that a rank may still lack are never
// here; their chunk entries keep them.
//
// Holds buffers of one BufferPool; the caller that puts one in or takes one out returns it there.
#pragma once

#include <cstdint>
#include <vector>

#include "aggregator/chunk/chunk_entry.h"

namespace tributary::aggregator {

class ResultCache {
 public:
  struct alignas(64) Entry {
    std::uint32_t job = kNone;  // place in the configuration; kNone: empty
    std::uint32_t seq = 0;
    std::uint32_t buffer = kNone;
    std::uint32_t next = kNone;   // next entry with the same hash
    std::uint32_t older = kNone;  // next older entry of the same job
    std::uint32_t newer = kNone;
    std::uint32_t flags = 0;  // of the RESULT
    ChunkDescription description;
  };

  // For the jobs of a configuration.
  ResultCache(std::uint32_t capacity, std::size_t jobs);

  // The evicted result: its buffer and its job. Both are kNone if none was evicted.
  struct Evicted {
    std::uint32_t job = kNone;
    std::uint32_t buffer = kNone;
    bool operator==(const Evicted&) const = default;
  };
  // Keeps the result and owns its buffer; without capacity, this result itself is evicted.
  Evicted put(std::uint32_t job, std::uint32_t seq, std::uint32_t buffer, std::uint32_t flags,
              const ChunkDescription& description);
  [[nodiscard]] const Entry* find(std::uint32_t job, std::uint32_t op, std::uint32_t chunk) const;
  // Removes all results of this job, one step each; passes each buffer to `put_back`.
  template <typename F>
  void drop(std::uint32_t job, F put_back) {
    if (entries_.empty()) return;
    while (newest_[job] != kNone) put_back(take_out(newest_[job]));
  }

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] std::uint32_t capacity() const {
    return static_cast<std::uint32_t>(entries_.size());
  }
  [[nodiscard]] std::size_t table_bytes() const {
    return entries_.size() * sizeof(Entry) +
           (heads_.size() + newest_.size()) * sizeof(std::uint32_t);
  }

 private:
  [[nodiscard]] std::size_t home(std::uint32_t job, std::uint32_t op, std::uint32_t chunk) const;
  std::uint32_t take_out(std::uint32_t index);

  std::vector<Entry> entries_;  // a ring in order of arrival
  std::vector<std::uint32_t> heads_;
  std::vector<std::uint32_t> newest_;  // by job: the end of its list
  std::uint32_t oldest_ = 0;           // where the next one goes
  std::uint32_t size_ = 0;
};
static_assert(sizeof(ResultCache::Entry) == 64);

}  // namespace tributary::aggregator
