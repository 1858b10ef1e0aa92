// The names that a switch knows: a table of entries, found by the whole name, and the bytes of
// those in its cache (arc.h).
//
//   declared  a put came by here: the digest, and from where it came, stay until the entry expires,
//             with the bytes or without
//   learned   the data came by here: stays as long as the cache remembers it, until it expires
//
// Segments of one value are linked with each other, so that one of another value is found.
//
// Payloads have memory of their own, a slot each, apart from that of sums and results. All of it is
// taken at construction. Owned by NameEngine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "aggregator/names/arc.h"
#include "core/counter.h"
#include "core/endpoint.h"
#include "core/index_list.h"
#include "core/time.h"
#include "core/wire/data_name.h"

namespace tributary::aggregator {

struct NameEntry {
  std::uint64_t hash = 0;
  wire::ValueInfo info;
  Endpoint from;    // declared: who put it, or the switch below that passed it on
  Instant created;  // declared or learned then
  Instant expires;  // not answered from then on; set by the engine
  std::uint64_t value_hash = 0;
  std::uint32_t job = 0;
  std::uint32_t next = 0xFFFFFFFF;  // of the same bucket, or free
  std::uint32_t older = 0xFFFFFFFF;
  std::uint32_t newer = 0xFFFFFFFF;
  std::uint32_t next_value = 0xFFFFFFFF;  // of the same bucket; of the entry that stands for its
                                          // value there
  std::uint32_t sibling_before = 0xFFFFFFFF;  // a ring: the segments of this value that are here
  std::uint32_t sibling_after = 0xFFFFFFFF;
  std::uint32_t slot = 0xFFFFFFFF;  // none: no bytes here
  std::uint16_t bytes = 0;          // of the segment
  std::uint16_t name_bytes = 0;
  bool used = false;
  bool declared = false;
  bool confirmed = false;  // the root has it, too: gets are answered
  std::array<char, wire::kMaxNameBytes> text;

  [[nodiscard]] std::string_view name() const { return {text.data(), name_bytes}; }
};

class NameStore {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  // `declared` entries at most, and payloads of `slots` segments of at most `slot_bytes`.
  NameStore(std::uint32_t declared, std::uint32_t slots, std::uint32_t slot_bytes,
            std::uint64_t seed);

  [[nodiscard]] std::uint64_t hash_of(std::string_view name) const;
  // The entry of this name, compared in full; kNone.
  [[nodiscard]] std::uint32_t find(std::string_view name, std::uint64_t hash) const;
  // An entry of the value of which this name is a segment; kNone.
  [[nodiscard]] std::uint32_t find_of_value(std::string_view name) const;
  [[nodiscard]] NameEntry& operator[](std::uint32_t entry) { return entries_[entry]; }
  [[nodiscard]] const NameEntry& operator[](std::uint32_t entry) const { return entries_[entry]; }

  // A new entry, of a name that has none; kNone if the table is full.
  std::uint32_t add(std::string_view name, std::uint64_t hash, std::uint32_t job, Instant now);
  void declare(std::uint32_t entry, const Endpoint& from, Instant now);
  void remove(std::uint32_t entry);

  // Keeps these bytes for the entry. What gives way for them loses its bytes or, if it is only
  // learned and no longer remembered, its entry. Returns the job of what lost its bytes; 0: none.
  std::uint32_t keep(std::uint32_t entry, std::span<const std::byte> payload);
  [[nodiscard]] bool has_bytes(std::uint32_t entry) const { return entries_[entry].slot != kNone; }
  // Valid until the next call of keep() or remove().
  [[nodiscard]] std::span<const std::byte> bytes_of(std::uint32_t entry) const {
    const NameEntry& e = entries_[entry];
    return {memory_.get() + std::size_t{e.slot} * slot_bytes_, e.bytes};
  }
  // Its bytes were asked for.
  void touch(std::uint32_t entry) { arc_.hit(entry); }

  // The entry that was created first; kNone.
  [[nodiscard]] std::uint32_t oldest() const { return by_age_.oldest(); }
  [[nodiscard]] std::uint32_t slot_bytes() const { return slot_bytes_; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  [[nodiscard]] std::uint32_t capacity() const {
    return static_cast<std::uint32_t>(entries_.size());
  }
  // Any thread.
  struct Counters {
    Counter names;  // gauges: entries; segments and bytes in the cache
    Counter segments;
    Counter bytes;
    Counter evicted;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] static std::size_t table_bytes(std::uint32_t declared, std::uint32_t slots);

 private:
  [[nodiscard]] std::uint32_t& bucket(std::uint64_t hash) {
    return buckets_[hash & (buckets_.size() - 1)];
  }
  [[nodiscard]] std::uint64_t hash_of_value(std::string_view name) const;
  [[nodiscard]] std::uint32_t find_of_value(std::string_view name, std::uint64_t hash) const;
  void join_value(std::uint32_t entry);
  void leave_value(std::uint32_t entry);
  void release_slot(std::uint32_t entry);

  std::uint32_t slots_;
  std::uint32_t slot_bytes_;
  std::uint64_t seed_;
  std::vector<NameEntry> entries_;
  std::vector<std::uint32_t> buckets_;
  std::vector<std::uint32_t> value_buckets_;  // one entry for each value
  std::vector<std::uint32_t> free_slots_;
  std::unique_ptr<std::byte[]> memory_;
  Arc arc_;
  IndexList<NameEntry, &NameEntry::older, &NameEntry::newer> by_age_;
  std::uint32_t free_ = kNone;
  Counters counters_;
};

}  // namespace tributary::aggregator
