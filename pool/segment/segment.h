// Records in a node's memory: where they are, and what survives kill -9 (L1, L4).
//
//   superblock, 4 KiB | records and free space, each record as record.h says
//
//   put:     data ─▶ header without its magic ─▶ magic        (then the caller's table)
//   remove:  magic ─▶ the caller's leases ─▶ free space
//
// A record is there if and only if its header is whole, so a scan of the segment is the truth after
// a crash, whatever was under way. A scan steps from record to record, and through free space by
// kRecordAlignment.
//
// One thread writes; remote readers read at any time, and check what they got.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "pool/record/record.h"
#include "pool/record/table.h"
#include "pool/segment/extents.h"

namespace tributary::pool {

inline constexpr std::uint64_t kSuperblockBytes = 4096;

class Segment {
 public:
  // Who the memory belongs to; memory of another pool, node or manifest is formatted anew.
  struct Owner {
    std::string pool;
    std::string node;
    std::uint64_t manifest = 0;
  };

  // Takes over the records that are in `memory`, or formats it: with this incarnation, and none.
  // `found` is called for each record, in order of offset; false drops it. Throws
  // std::invalid_argument where the memory is too small.
  Segment(std::span<std::byte> memory, const Owner& owner, std::uint32_t fresh_incarnation,
          const std::function<bool(const PlacedRecord&)>& found);

  // Copies a record in. nullopt: no extent is large enough, or 2^32 generations are used up.
  std::optional<PlacedRecord> put(std::uint64_t id, std::span<const std::byte> data);
  // From now on no reader takes it for a record. Its memory is the returned extent, and is free
  // only after release().
  Extent remove(const PlacedRecord& record);
  void release(const Extent& extent) { free_.release(extent); }

  // A number for a change of the table that is no record: a removal. 0: there are no more.
  std::uint32_t next_generation();

  // CRC and header of one that put() or the scan gave.
  [[nodiscard]] bool intact(const PlacedRecord& record) const;
  [[nodiscard]] std::span<const std::byte> data(const PlacedRecord& record) const {
    return memory_.subspan(record.offset + sizeof(RecordHeader), record.length);
  }

  [[nodiscard]] std::uint32_t incarnation() const { return incarnation_; }
  // Of the newest change; the next one's is larger.
  [[nodiscard]] std::uint32_t generation() const { return generation_; }
  [[nodiscard]] std::uint64_t capacity() const { return memory_.size() - kSuperblockBytes; }
  [[nodiscard]] std::uint64_t free_bytes() const { return free_.free_bytes(); }
  [[nodiscard]] bool taken_over() const { return taken_over_; }

 private:
  void format(const Owner& owner, std::uint32_t incarnation);
  bool is_ours(const Owner& owner);
  void scan(const std::function<bool(const PlacedRecord&)>& found);
  RecordHeader header_at(std::uint64_t offset) const;
  void set_magic(std::uint64_t offset, std::uint32_t magic);

  std::span<std::byte> memory_;
  Extents free_;
  std::uint32_t incarnation_ = 0;
  std::uint32_t generation_ = 0;
  bool taken_over_ = false;
};

}  // namespace tributary::pool
