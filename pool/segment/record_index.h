// Index of a segment: the place of each record, in an area of its own. Recovery follows it, and
// never looks at data for records.
//
//   area: | entry, 40 bytes | entry | ...     an entry is free, or names one record
//
//   add:     all fields but the offset ─▶ offset
//   remove:  offset becomes 0
//
// One store of 8 bytes decides whether an entry names a record, so a kill at any instant leaves
// whole entries alone. The CRC finds entries that were damaged later. One thread writes.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace tributary::pool {

struct IndexEntry {
  std::uint64_t offset = 0;  // of the record's header in the segment; 0: the entry is free
  std::uint64_t id = 0;
  std::uint32_t length = 0;  // of the data
  std::uint32_t generation = 0;
  std::uint32_t data_crc = 0;     // CRC32C of the data; readers find it in the header
  std::uint32_t incarnation = 0;  // of the index: drawn when the segment was formatted
  std::uint32_t crc = 0;          // CRC32C of the fields before it
  std::uint32_t reserved = 0;
};
static_assert(sizeof(IndexEntry) == 40);

class RecordIndex {
 public:
  // The entries for `bytes` of memory that index and records share, if records have `record_bytes`
  // of data, and there are never more than `records`.
  static std::uint64_t entries_for(std::uint64_t bytes, std::uint64_t records,
                                   std::uint64_t record_bytes);
  // The size of the area, a multiple of kRecordAlignment.
  static std::uint64_t area_bytes(std::uint64_t entries);

  // An index of no entries; add() needs another one.
  RecordIndex() = default;
  // `area` has the size that area_bytes() says.
  RecordIndex(std::span<std::byte> area, std::uint64_t entries, std::uint32_t incarnation);

  // Frees all entries.
  void clear();
  // Reads the entries of an earlier process, in order of offset. Those that are damaged, outside of
  // [begin, end) or overlap an earlier one are freed, and counted by damaged().
  std::vector<IndexEntry> recover(std::uint64_t begin, std::uint64_t end);

  [[nodiscard]] bool full() const { return free_.empty(); }
  [[nodiscard]] std::uint64_t damaged() const { return damaged_; }

  // Names a record whose data is in its place. The index must not be full.
  void add(IndexEntry entry);
  // Must come before the record's memory is used for anything else.
  void remove(std::uint64_t offset);

 private:
  [[nodiscard]] IndexEntry* at(std::uint32_t slot) const {
    return reinterpret_cast<IndexEntry*>(area_.data()) + slot;
  }
  void set_offset(std::uint32_t slot, std::uint64_t offset);

  std::span<std::byte> area_;
  std::uint32_t entries_ = 0;
  std::uint32_t incarnation_ = 0;
  std::uint64_t damaged_ = 0;
  std::vector<std::uint32_t> free_;                         // slots; the next one is at the back
  std::unordered_map<std::uint64_t, std::uint32_t> slots_;  // by offset
};

}  // namespace tributary::pool
