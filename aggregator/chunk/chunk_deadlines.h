// FIFO of the chunks that must end by a deadline, linked through their chunk entries. All members
// of one queue have the same timeout, so arrival order is expiry order: arm, cancel and expire are
// O(1), and the front entry alone tells whether any is due.
#pragma once

#include <span>

#include "aggregator/chunk/chunk_entry.h"
#include "core/index_list.h"
#include "core/time.h"

namespace tributary::aggregator {

class ChunkDeadlines {
 public:
  // Members are elements of `entries`, which must not move.
  ChunkDeadlines(Duration timeout, std::span<ChunkEntry> entries)
      : timeout_(timeout), entries_(entries) {}

  // The start of the timeout is e.opened_at, which must not be before that of the previous call.
  void arm(ChunkEntry& e) {
    const auto index = static_cast<std::uint32_t>(&e - entries_.data());
    e.armed = true;
    list_.append(entries_, index);
  }
  void cancel(ChunkEntry& e) {
    if (!e.armed) return;
    e.armed = false;
    list_.remove(entries_, static_cast<std::uint32_t>(&e - entries_.data()));
  }
  // The oldest member whose deadline has passed (now ≥ armed + timeout), or nullptr.
  [[nodiscard]] ChunkEntry* due(Instant now) const {
    const std::uint32_t first = list_.oldest();
    if (first == kNone || now - entries_[first].opened_at < timeout_) return nullptr;
    return &entries_[first];
  }
  // No deadline ends before this: not of a current member, nor of one that is armed after now.
  [[nodiscard]] Instant next_due(Instant now) const {
    return (list_.empty() ? now : entries_[list_.oldest()].opened_at) + timeout_;
  }
  [[nodiscard]] Duration timeout() const { return timeout_; }

 private:
  Duration timeout_;
  std::span<ChunkEntry> entries_;
  IndexList<ChunkEntry, &ChunkEntry::previous, &ChunkEntry::next> list_;
};

}  // namespace tributary::aggregator
