// The records that a node holds, may drop, or whose readers may still be reading (L1, L4).
//
//   put ──▶ segment ──▶ table, in order of generation ──▶ evicted, oldest first, unless pinned
//                                                          └──▶ waits for leases ──▶ free space
//
// Single-threaded: the node's lock protects it. Time is an argument.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/time.h"
#include "pool/record/lease.h"
#include "pool/segment/segment.h"

namespace tributary::pool {

enum class Eviction : std::uint8_t {
  none,    // a full node accepts no more; other records are read from the store
  oldest,  // drops the oldest records to make room
};

struct CacheLimits {
  Eviction eviction = Eviction::none;
  std::uint32_t high_water_percent = 95;  // of the capacity; the rest is for fragmentation
  Duration lease = Duration::seconds(10);
};

struct CacheCounters {
  std::uint64_t stored = 0;
  std::uint64_t refused = 0;  // full
  std::uint64_t evicted = 0;
  std::uint64_t corrupt = 0;    // their data, or at the start their index entry
  std::uint64_t recovered = 0;  // named by the index at the start
};

class NodeCache {
 public:
  NodeCache(std::span<std::byte> memory, const Segment::Owner& owner,
            std::uint32_t fresh_incarnation, const CacheLimits& limits);

  enum class Put : std::uint8_t { stored, present, full };
  Put put(std::uint64_t id, std::span<const std::byte> data, Instant now);

  // Returns false, and counts a refusal, if a record of so many bytes would be one too many, so
  // that it need not be read. Nothing is dropped for it.
  bool admits(std::uint32_t length, Instant now);

  [[nodiscard]] std::optional<PlacedRecord> find(std::uint64_t id) const;
  [[nodiscard]] bool holds(std::uint64_t id) const { return records_.contains(id); }
  // Up to `most` changes of generations after `since`, oldest first: records, and ids that are gone
  // (is_gone()).
  [[nodiscard]] std::vector<PlacedRecord> after(std::uint64_t since, std::size_t most) const;
  // Changes up to this generation are no longer told one by one: a reader that has seen something
  // else than nothing, and less than this, must forget the table and read the whole.
  [[nodiscard]] std::uint64_t compacted() const { return compacted_; }
  // Entries of the change log: at most two for each record, and kLogSlack.
  [[nodiscard]] std::size_t log_entries() const { return log_.size(); }
  static constexpr std::size_t kLogSlack = 4096;

  // Both work on the ids in [first, first + count), and return how many.
  std::uint64_t evict(std::uint64_t first, std::uint64_t count, Instant now);
  std::uint64_t pin(std::uint64_t first, std::uint64_t count, bool pinned);
  // Drops a record whose data does not fit its header; returns false then.
  bool check(std::uint64_t id, Instant now);
  // The ids that it holds, ascending.
  [[nodiscard]] std::vector<std::uint64_t> ids(std::uint64_t first, std::uint64_t count) const;

  Leases& leases() { return leases_; }
  // Ends expired leases, and takes back memory that no lease protects.
  void tidy(Instant now);

  // Changes with every put and every removal.
  [[nodiscard]] std::uint64_t generation() const { return segment_.generation(); }
  [[nodiscard]] const Segment& segment() const { return segment_; }
  [[nodiscard]] const CacheCounters& counters() const { return counters_; }
  [[nodiscard]] std::uint64_t count() const { return records_.size(); }
  [[nodiscard]] std::uint64_t used_bytes() const { return used_bytes_; }
  [[nodiscard]] std::uint64_t pinned() const { return pinned_.size(); }
  [[nodiscard]] std::uint64_t lease_count() const { return leases_.count(); }
  [[nodiscard]] std::uint64_t waiting_bytes() const { return leases_.waiting_bytes(); }
  [[nodiscard]] std::uint64_t high_water_bytes() const;

 private:
  void insert(const PlacedRecord& record);
  void drop(const PlacedRecord& record, Instant now);
  bool make_room(std::uint64_t bytes, Instant now);
  [[nodiscard]] bool outdated(const std::pair<std::uint32_t, std::uint64_t>& entry) const;
  void compact(std::uint64_t seen);

  CacheLimits limits_;
  std::unordered_map<std::uint64_t, PlacedRecord> records_;
  // By generation, ascending, with an entry for each removal. An outdated entry stays until it is
  // in front and every lease has seen it, or the log is compacted.
  std::deque<std::pair<std::uint32_t, std::uint64_t>> log_;
  std::uint64_t compacted_ = 0;
  std::set<std::uint64_t> pinned_;
  std::uint64_t used_bytes_ = 0;
  // The smallest footprint that found no place between the others since memory was last given back.
  std::uint64_t unplaced_bytes_ = ~std::uint64_t{0};
  CacheCounters counters_;
  Leases leases_;
  Segment segment_;  // last: its recovery fills the members above
};

}  // namespace tributary::pool
