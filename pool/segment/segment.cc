#include "pool/segment/segment.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace tributary::pool {
namespace {

constexpr std::array<char, 8> kMagic = {'T', 'R', 'B', 'P', 'S', 'E', 'G', '1'};

struct Superblock {
  std::array<char, 8> magic;
  std::uint64_t bytes;
  std::uint64_t manifest;
  std::uint64_t owner;  // hash of the pool's and the node's name
  std::uint32_t incarnation;
  // A generation that a scan cannot see: that of removed records. Raised in steps, before a record
  // beyond it is written.
  std::uint32_t generation_limit;
  std::uint32_t crc;
};
static_assert(sizeof(Superblock) <= kSuperblockBytes);
constexpr std::uint32_t kGenerationStep = 1 << 16;

std::uint32_t crc_of(const Superblock& block) {
  return wire::crc32c(
      std::as_bytes(std::span(&block, 1)).first(offsetof(Superblock, generation_limit)));
}

std::uint64_t hash_of(const Segment::Owner& owner) {
  const std::string text = owner.pool + '\0' + owner.node;
  const auto bytes = std::as_bytes(std::span(text));
  return std::uint64_t{wire::crc32c(bytes)} << 32 | wire::crc32c(bytes, 1);
}

}  // namespace

Segment::Segment(std::span<std::byte> memory, const Owner& owner, std::uint32_t fresh_incarnation,
                 const std::function<bool(const PlacedRecord&)>& found)
    : memory_(memory.first(memory.size() / kRecordAlignment * kRecordAlignment)) {
  if (memory_.size() < 2 * kSuperblockBytes)
    throw std::invalid_argument("a segment of " + std::to_string(memory.size()) +
                                " bytes; allowed: at least " +
                                std::to_string(2 * kSuperblockBytes));
  taken_over_ = is_ours(owner);
  if (taken_over_)
    scan(found);
  else
    format(owner, fresh_incarnation);
}

bool Segment::is_ours(const Owner& owner) {
  Superblock block{};
  std::memcpy(&block, memory_.data(), sizeof block);
  if (block.magic != kMagic || block.bytes != memory_.size() || block.crc != crc_of(block) ||
      block.manifest != owner.manifest || block.owner != hash_of(owner))
    return false;
  incarnation_ = block.incarnation;
  generation_ = block.generation_limit;
  return true;
}

// The incarnation is new, so no old header belongs to it.
void Segment::format(const Owner& owner, std::uint32_t incarnation) {
  Superblock block{kMagic, memory_.size(), owner.manifest, hash_of(owner), incarnation, 0, 0};
  block.crc = crc_of(block);
  std::memset(memory_.data(), 0, kSuperblockBytes);
  std::atomic_thread_fence(std::memory_order_release);
  std::memcpy(memory_.data(), &block, sizeof block);
  incarnation_ = incarnation;
  free_.release({kSuperblockBytes, capacity()});
}

RecordHeader Segment::header_at(std::uint64_t offset) const {
  RecordHeader header;
  std::memcpy(&header, memory_.data() + offset, sizeof header);
  return header;
}

void Segment::set_magic(std::uint64_t offset, std::uint32_t magic) {
  auto* const place =
      reinterpret_cast<std::uint32_t*>(memory_.data() + offset + offsetof(RecordHeader, magic));
  // Pairs with nothing in this process: orders the stores for remote readers and for a scan.
  std::atomic_ref(*place).store(magic, std::memory_order_release);
}

void Segment::scan(const std::function<bool(const PlacedRecord&)>& found) {
  std::uint64_t free_from = kSuperblockBytes;
  const auto free_until = [&](std::uint64_t end) { free_.release({free_from, end - free_from}); };
  std::uint64_t at = kSuperblockBytes;
  while (at < memory_.size()) {
    const RecordHeader header = header_at(at);
    if (header.magic != kRecordMagic || !is_header(header, incarnation_) ||
        footprint(header.length) > memory_.size() - at) {
      at += kRecordAlignment;
      continue;
    }
    const PlacedRecord record{header.id, at, header.length, header.generation};
    if (!found(record)) {
      set_magic(at, kFreedMagic);
      at += kRecordAlignment;
      continue;
    }
    free_until(at);
    at += footprint(header.length);
    free_from = at;
    generation_ = std::max(generation_, header.generation);
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
  if (data.size() > kMaxRecordBytes) return std::nullopt;
  const auto offset = free_.take(footprint(data.size()));
  if (!offset) return std::nullopt;
  const std::uint32_t generation = next_generation();
  if (generation == 0) {
    free_.release({*offset, footprint(data.size())});
    return std::nullopt;
  }
  std::byte* const place = memory_.data() + *offset;
  // An old header may be here; it must not become the header of a half-written record.
  set_magic(*offset, kFreedMagic);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!data.empty()) std::memcpy(place + sizeof(RecordHeader), data.data(), data.size());
  const RecordHeader header = make_header(id, generation, incarnation_, data);
  std::memcpy(place, &header, offsetof(RecordHeader, magic));
  set_magic(*offset, kRecordMagic);
  return PlacedRecord{id, *offset, header.length, generation};
}

Extent Segment::remove(const PlacedRecord& record) {
  set_magic(record.offset, kFreedMagic);
  return {record.offset, footprint(record.length)};
}

bool Segment::intact(const PlacedRecord& record) const {
  return check_read(header_at(record.offset), data(record),
                    {record.id, record.generation, record.length, incarnation_}) == ReadCheck::good;
}

}  // namespace tributary::pool
