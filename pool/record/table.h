// Record table of a loader: the place of each id, in 16 bytes (L4).
//
// Ids are dense, from a manifest, so the id itself is the index. Keys, base addresses and
// incarnations belong to segments, CRCs to the records' own headers. An entry may be out of date;
// the header that is read with the data shows it (record.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "pool/record/record.h"

namespace tributary::pool {

inline constexpr std::size_t kMaxNodes = 255;

struct Location {
  std::uint8_t node = 0;     // index into the pool's nodes
  std::uint64_t offset = 0;  // of the header in the node's segment; a multiple of kRecordAlignment
  std::uint32_t length = 0;  // of the data
  std::uint32_t generation = 0;
  bool operator==(const Location&) const = default;
};

// A record's place at a node, as sent on the wire.
struct PlacedRecord {
  std::uint64_t id = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
  std::uint32_t generation = 0;
  bool operator==(const PlacedRecord&) const = default;
};

// A change that removes an id from the table.
inline constexpr std::uint32_t kGoneLength = 0xFFFFFFFF;
constexpr PlacedRecord gone(std::uint64_t id, std::uint32_t generation) {
  return {id, 0, kGoneLength, generation};
}
constexpr bool is_gone(const PlacedRecord& record) {
  return record.length == kGoneLength;
}

class RecordTable {
 public:
  // Throws std::bad_alloc; all memory is allocated here.
  explicit RecordTable(std::uint64_t records) : entries_(records) {}

  [[nodiscard]] std::uint64_t size() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t known() const { return known_; }

  [[nodiscard]] std::optional<Location> find(std::uint64_t id) const {
    if (id >= entries_.size()) return std::nullopt;
    const Entry& e = entries_[id];
    if (e.place == 0) return std::nullopt;
    return Location{static_cast<std::uint8_t>((e.place >> kOffsetBits) - 1),
                    (e.place & kOffsetMask) * kRecordAlignment, e.length, e.generation};
  }

  // Returns false, and changes nothing, if no segment could hold such a record.
  bool set(std::uint64_t id, const Location& at) {
    if (id >= entries_.size() || at.node >= kMaxNodes || at.offset % kRecordAlignment != 0 ||
        at.offset / kRecordAlignment > kOffsetMask || at.length > kMaxRecordBytes)
      return false;
    Entry& e = entries_[id];
    if (e.place == 0) ++known_;
    e = {(std::uint64_t{at.node} + 1) << kOffsetBits | at.offset / kRecordAlignment, at.length,
         at.generation};
    return true;
  }
  void forget(std::uint64_t id) {
    if (id >= entries_.size() || entries_[id].place == 0) return;
    entries_[id] = {};
    --known_;
  }
  // Forgets all records of a node: it is gone, or its segment is new. Returns how many.
  std::uint64_t forget_node(std::uint8_t node);

 private:
  static constexpr int kOffsetBits = 56;
  static constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kOffsetBits) - 1;
  struct Entry {
    std::uint64_t place = 0;  // node + 1, then the offset in units of kRecordAlignment; 0: unknown
    std::uint32_t length = 0;
    std::uint32_t generation = 0;
  };
  static_assert(sizeof(Entry) == 16);

  std::vector<Entry> entries_;
  std::uint64_t known_ = 0;
};

}  // namespace tributary::pool
