// Records in a node's memory: their places, and what survives kill -9 (L1, L4).
//
//   superblock, 4 KiB | records and free space, each record as record.h says
//
//   put:     data ─▶ header without its magic ─▶ magic        (then the caller's table)
//   remove:  magic ─▶ the caller's leases ─▶ free space
//
// A record exists if and only if its header is whole. So a scan of the segment gives the truth
// after a crash, whatever was in progress. A scan steps from record to record, and through free
// space by kRecordAlignment.
//
// One thread writes; remote readers read at any time, and check their data.
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
  // The memory's owner; memory of another pool, node or manifest is formatted anew.
  struct Owner {
    std::string pool;
    std::string node;
    std::uint64_t manifest = 0;
  };

  // Takes over the records in `memory`, or formats it with this incarnation and no records. Calls
  // `found` for each record, in order of offset; false drops it. Throws std::invalid_argument if
  // the memory is too small.
  Segment(std::span<std::byte> memory, const Owner& owner, std::uint32_t fresh_incarnation,
          const std::function<bool(const PlacedRecord&)>& found);

  // Copies a record in. nullopt if no extent is large enough, or 2^32 generations are used up.
  std::optional<PlacedRecord> put(std::uint64_t id, std::span<const std::byte> data);
  // From now on no reader takes it for a record. Its memory is the returned extent, and becomes
  // free only by release().
  Extent remove(const PlacedRecord& record);
  void release(const Extent& extent) { free_.release(extent); }

  // The generation of a change that is not a record: a removal. 0 if there are no more.
  std::uint32_t next_generation();

  // Checks CRC and header of a record that put() or the scan returned.
  [[nodiscard]] bool intact(const PlacedRecord& record) const;
  [[nodiscard]] std::span<const std::byte> data(const PlacedRecord& record) const {
    return memory_.subspan(record.offset + sizeof(RecordHeader), record.length);
  }

  [[nodiscard]] std::uint32_t incarnation() const { return incarnation_; }
  // The generation of the newest change; later ones are larger.
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
