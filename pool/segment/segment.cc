#include "pool/segment/segment.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace tributary::pool {
namespace {

// The last character is the version of the format.
constexpr std::array<char, 8> kSegmentMagic = {'T', 'R', 'B', 'P', 'S', 'E', 'G', '2'};

struct Superblock {
  std::array<char, 8> magic;
  std::uint64_t bytes;
  std::uint64_t manifest;
  std::uint64_t owner;    // hash of the pool's and the node's name
  std::uint64_t entries;  // of the index
  std::uint32_t index_incarnation;
  std::uint32_t crc;  // CRC32C of the fields before it
  // A generation that the index does not show: that of removed records. Raised in steps, before a
  // record beyond it is written.
  std::uint32_t generation_limit;
  std::uint32_t incarnation;  // of the records' headers: that of the last process
};
static_assert(sizeof(Superblock) <= kSuperblockBytes);
constexpr std::uint32_t kGenerationStep = 1 << 16;

std::uint32_t crc_of(const Superblock& block) {
  return wire::crc32c(std::as_bytes(std::span(&block, 1)).first(offsetof(Superblock, crc)));
}

std::uint64_t hash_of(const Segment::Owner& owner) {
  const std::string text = owner.pool + '\0' + owner.node;
  const auto bytes = std::as_bytes(std::span(text));
  return std::uint64_t{wire::crc32c(bytes)} << 32 | wire::crc32c(bytes, 1);
}

}  // namespace

const char* name_of(MemoryOrigin origin) {
  switch (origin) {
    case MemoryOrigin::fresh: return "its memory is new";
    case MemoryOrigin::taken_over: return "its memory was found";
    case MemoryOrigin::other_format:
      return "its memory had the format of another build, and was emptied";
    case MemoryOrigin::other_owner:
      return "its memory was damaged, or of another pool, node, manifest or size, and was emptied";
  }
  return "unknown";
}

Segment::Segment(std::span<std::byte> memory, const Owner& owner, std::uint32_t fresh_incarnation,
                 const std::function<bool(const PlacedRecord&)>& found)
    : memory_(memory.first(memory.size() / kRecordAlignment * kRecordAlignment)) {
  if (memory_.size() < 2 * kSuperblockBytes)
    throw std::invalid_argument("a segment of " + std::to_string(memory.size()) +
                                " bytes; allowed: at least " +
                                std::to_string(2 * kSuperblockBytes));
  entries_ = RecordIndex::entries_for(memory_.size() - kSuperblockBytes, owner.records,
                                      owner.record_bytes);
  records_from_ = kSuperblockBytes + RecordIndex::area_bytes(entries_);
  origin_ = find_origin(owner);
  if (taken_over()) {
    take_over(fresh_incarnation);
    recover(found);
  } else {
    format(owner, fresh_incarnation);
  }
}

MemoryOrigin Segment::find_origin(const Owner& owner) const {
  Superblock block{};
  std::memcpy(&block, memory_.data(), sizeof block);
  if (!std::equal(kSegmentMagic.begin(), kSegmentMagic.end() - 1, block.magic.begin()))
    return MemoryOrigin::fresh;
  if (block.magic != kSegmentMagic) return MemoryOrigin::other_format;
  if (block.crc != crc_of(block) || block.bytes != memory_.size() || block.entries != entries_ ||
      block.manifest != owner.manifest || block.owner != hash_of(owner))
    return MemoryOrigin::other_owner;
  return MemoryOrigin::taken_over;
}

// The incarnation is new, so no old header belongs to it.
void Segment::format(const Owner& owner, std::uint32_t incarnation) {
  Superblock block{
      kSegmentMagic, memory_.size(), owner.manifest, hash_of(owner), entries_, incarnation, 0, 0,
      incarnation};
  block.crc = crc_of(block);
  std::memset(memory_.data(), 0, kSuperblockBytes);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  index_ = RecordIndex(memory_.subspan(kSuperblockBytes, records_from_ - kSuperblockBytes),
                       entries_, incarnation);
  index_.clear();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::memcpy(memory_.data(), &block, sizeof block);
  incarnation_ = incarnation;
  free_.release({records_from_, capacity()});
}

void Segment::take_over(std::uint32_t incarnation) {
  Superblock* const block = reinterpret_cast<Superblock*>(memory_.data());
  index_ = RecordIndex(memory_.subspan(kSuperblockBytes, records_from_ - kSuperblockBytes),
                       entries_, block->index_incarnation);
  incarnation_ = incarnation == block->incarnation ? incarnation + 1 : incarnation;
  generation_ = block->generation_limit;
  block->incarnation = incarnation_;
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

RecordHeader Segment::header_at(std::uint64_t offset) const {
  RecordHeader header;
  std::memcpy(&header, memory_.data() + offset, sizeof header);
  return header;
}

void Segment::set_magic(std::uint64_t offset, std::uint32_t magic) {
  auto* const place =
      reinterpret_cast<std::uint32_t*>(memory_.data() + offset + offsetof(RecordHeader, magic));
  // Pairs with nothing in this process: orders the stores for remote readers.
  std::atomic_ref(*place).store(magic, std::memory_order_release);
}

// The magic last: a reader never takes a half-written header.
void Segment::write_header(std::uint64_t offset, const RecordHeader& header) {
  set_magic(offset, kFreedMagic);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::memcpy(memory_.data() + offset, &header, offsetof(RecordHeader, magic));
  set_magic(offset, kRecordMagic);
}

void Segment::recover(const std::function<bool(const PlacedRecord&)>& found) {
  std::uint64_t free_from = records_from_;
  const auto free_until = [&](std::uint64_t end) { free_.release({free_from, end - free_from}); };
  for (const IndexEntry& entry : index_.recover(records_from_, memory_.size())) {
    generation_ = std::max(generation_, entry.generation);
    if (!found({entry.id, entry.offset, entry.length, entry.generation})) {
      index_.remove(entry.offset);
      set_magic(entry.offset, kFreedMagic);
      continue;
    }
    RecordHeader header{entry.id, entry.generation, entry.length, entry.data_crc, incarnation_,
                        0,        kRecordMagic};
    header.header_crc = header_crc_of(header);
    write_header(entry.offset, header);
    free_until(entry.offset);
    free_from = entry.offset + footprint(entry.length);
  }
  free_until(memory_.size());
}

std::uint32_t Segment::next_generation() {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (generation_ >= kMost - kGenerationStep) return 0;
  Superblock* const block = reinterpret_cast<Superblock*>(memory_.data());
  if (++generation_ >= block->generation_limit) {
    block->generation_limit = generation_ + kGenerationStep;
    std::atomic_thread_fence(std::memory_order_release);
  }
  return generation_;
}

std::optional<PlacedRecord> Segment::put(std::uint64_t id, std::span<const std::byte> data) {
  if (data.size() > kMaxRecordBytes || index_.full()) return std::nullopt;
  const auto offset = free_.take(footprint(data.size()));
  if (!offset) return std::nullopt;
  const std::uint32_t generation = next_generation();
  if (generation == 0) {
    free_.release({*offset, footprint(data.size())});
    return std::nullopt;
  }
  // An old header may be here; it must not become the header of a half-written record.
  set_magic(*offset, kFreedMagic);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::byte* const place = memory_.data() + *offset;
  if (!data.empty()) std::memcpy(place + sizeof(RecordHeader), data.data(), data.size());
  const RecordHeader header = make_header(id, generation, incarnation_, data);
  write_header(*offset, header);
  index_.add({*offset, id, header.length, generation, header.data_crc, 0, 0, 0});
  return PlacedRecord{id, *offset, header.length, generation};
}

Extent Segment::remove(const PlacedRecord& record) {
  index_.remove(record.offset);
  set_magic(record.offset, kFreedMagic);
  return {record.offset, footprint(record.length)};
}

bool Segment::intact(const PlacedRecord& record) const {
  return check_read(header_at(record.offset), data(record),
                    {record.id, record.generation, record.length, incarnation_}) == ReadCheck::good;
}

}  // namespace tributary::pool
