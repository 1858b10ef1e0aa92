// Records in a node's memory: their places, and what survives kill -9 (L1, L4).
//
//   superblock, 4 KiB | index, as record_index.h says | records and free space, as record.h says
//
//   put:     data ─▶ header ─▶ index entry                    (then the caller's table)
//   remove:  index entry ─▶ magic of the header ─▶ the caller's leases ─▶ free space
//
// A record exists if and only if the index names it; recovery follows the index and trusts no byte
// of the records. Headers are for readers. They carry the incarnation, which each process draws
// when it takes the memory over: it writes the headers of all its records again. So no header that
// an earlier process wrote, and no copy of one inside of a record's data, is a record to a reader.
// A copy with the running process's incarnation cannot be in data: the manifest fixes the version
// of the data, and is older than the process.
//
// One thread writes; remote readers read at any time, and check their data.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "pool/record/record.h"
#include "pool/record/table.h"
#include "pool/segment/extents.h"
#include "pool/segment/record_index.h"

namespace tributary::pool {

inline constexpr std::uint64_t kSuperblockBytes = 4096;

// The earlier contents of a segment's memory.
enum class MemoryOrigin : std::uint8_t {
  fresh,         // no segment
  taken_over,    // its own segment; its records are kept
  other_format,  // a segment of another build's format, emptied
  other_owner,   // a damaged one, or one of another pool, node, manifest or size, emptied
};
const char* name_of(MemoryOrigin origin);

class Segment {
 public:
  // The memory's owner; memory of another pool, node or manifest is formatted anew. The numbers
  // give the index its size, and follow from the manifest.
  struct Owner {
    std::string pool;
    std::string node;
    std::uint64_t manifest = 0;
    std::uint64_t records = std::numeric_limits<std::uint64_t>::max();  // never more
    std::uint64_t record_bytes = 0;  // the size of the records that would fill both
  };

  // Takes over the records in `memory`, or formats it with no records. Calls `found` for each
  // record, in order of offset; false drops it. Throws std::invalid_argument if the memory is too
  // small. `fresh_incarnation` is the incarnation from now on, or its successor if the memory has
  // that one already.
  Segment(std::span<std::byte> memory, const Owner& owner, std::uint32_t fresh_incarnation,
          const std::function<bool(const PlacedRecord&)>& found);

  // Copies a record in. nullopt if no extent is large enough, the index is full, or 2^32
  // generations are used up.
  std::optional<PlacedRecord> put(std::uint64_t id, std::span<const std::byte> data);
  // From now on no reader takes it for a record. Its memory is the returned extent, and becomes
  // free only by release().
  Extent remove(const PlacedRecord& record);
  void release(const Extent& extent) { free_.release(extent); }

  // The generation of a change that is not a record: a removal. 0 if there are no more.
  std::uint32_t next_generation();

  // Checks CRC and header of a record that put() returned or `found` was given.
  [[nodiscard]] bool intact(const PlacedRecord& record) const;
  [[nodiscard]] std::span<const std::byte> data(const PlacedRecord& record) const {
    return memory_.subspan(record.offset + sizeof(RecordHeader), record.length);
  }

  [[nodiscard]] std::uint32_t incarnation() const { return incarnation_; }
  // The generation of the newest change; later ones are larger.
  [[nodiscard]] std::uint32_t generation() const { return generation_; }
  [[nodiscard]] std::uint64_t capacity() const { return memory_.size() - records_from_; }
  [[nodiscard]] std::uint64_t free_bytes() const { return free_.free_bytes(); }
  // No record can be put until another one is removed.
  [[nodiscard]] bool index_full() const { return index_.full(); }
  // Records lost at the start because their index entry was damaged.
  [[nodiscard]] std::uint64_t damaged_entries() const { return index_.damaged(); }
  [[nodiscard]] MemoryOrigin origin() const { return origin_; }
  [[nodiscard]] bool taken_over() const { return origin_ == MemoryOrigin::taken_over; }

 private:
  [[nodiscard]] MemoryOrigin find_origin(const Owner& owner) const;
  void format(const Owner& owner, std::uint32_t incarnation);
  void take_over(std::uint32_t incarnation);
  void recover(const std::function<bool(const PlacedRecord&)>& found);
  RecordHeader header_at(std::uint64_t offset) const;
  void write_header(std::uint64_t offset, const RecordHeader& header);
  void set_magic(std::uint64_t offset, std::uint32_t magic);

  std::span<std::byte> memory_;
  std::uint64_t entries_ = 0;       // of the index
  std::uint64_t records_from_ = 0;  // where records begin, behind the index
  RecordIndex index_;
  Extents free_;
  std::uint32_t incarnation_ = 0;
  std::uint32_t generation_ = 0;
  MemoryOrigin origin_ = MemoryOrigin::fresh;
};

}  // namespace tributary::pool
