#include "pool/segment/record_index.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <limits>
#include <utility>

#include "pool/record/record.h"

namespace tributary::pool {
namespace {

std::uint32_t crc_of(const IndexEntry& entry) {
  return wire::crc32c(std::as_bytes(std::span(&entry, 1)).first(offsetof(IndexEntry, crc)));
}

}  // namespace

std::uint64_t RecordIndex::entries_for(std::uint64_t bytes, std::uint64_t records,
                                       std::uint64_t record_bytes) {
  const std::uint64_t each = footprint(std::min<std::uint64_t>(record_bytes, kMaxRecordBytes));
  const std::uint64_t room = bytes / (each + sizeof(IndexEntry));
  return std::clamp<std::uint64_t>(std::min(room, records), 1,
                                   std::numeric_limits<std::uint32_t>::max());
}

std::uint64_t RecordIndex::area_bytes(std::uint64_t entries) {
  return (entries * sizeof(IndexEntry) + kRecordAlignment - 1) / kRecordAlignment *
         kRecordAlignment;
}

RecordIndex::RecordIndex(std::span<std::byte> area, std::uint64_t entries,
                         std::uint32_t incarnation)
    : area_(area), entries_(static_cast<std::uint32_t>(entries)), incarnation_(incarnation) {}

void RecordIndex::clear() {
  std::memset(area_.data(), 0, area_.size());
  slots_.clear();
  free_.clear();
  for (std::uint32_t slot = entries_; slot-- > 0;) free_.push_back(slot);
}

void RecordIndex::set_offset(std::uint32_t slot, std::uint64_t offset) {
  // Pairs with recover() of the process that follows: it finds the other fields, and the data, if
  // it finds the offset.
  std::atomic_ref(at(slot)->offset).store(offset, std::memory_order_seq_cst);
}

std::vector<IndexEntry> RecordIndex::recover(std::uint64_t begin, std::uint64_t end) {
  std::vector<std::pair<IndexEntry, std::uint32_t>> named;
  slots_.clear();
  free_.clear();
  damaged_ = 0;
  const auto drop = [this](std::uint32_t slot) {
    set_offset(slot, 0);
    free_.push_back(slot);
    ++damaged_;
  };
  for (std::uint32_t slot = entries_; slot-- > 0;) {
    const IndexEntry entry = *at(slot);
    if (entry.offset == 0)
      free_.push_back(slot);
    else if (entry.crc != crc_of(entry) || entry.incarnation != incarnation_ ||
             entry.offset % kRecordAlignment != 0 || entry.offset < begin || entry.offset >= end ||
             entry.length > kMaxRecordBytes || footprint(entry.length) > end - entry.offset)
      drop(slot);
    else
      named.emplace_back(entry, slot);
  }
  std::sort(named.begin(), named.end(),
            [](const auto& a, const auto& b) { return a.first.offset < b.first.offset; });
  std::vector<IndexEntry> out;
  std::uint64_t free_from = begin;
  for (const auto& [entry, slot] : named) {
    if (entry.offset < free_from) {
      drop(slot);
      continue;
    }
    free_from = entry.offset + footprint(entry.length);
    slots_.emplace(entry.offset, slot);
    out.push_back(entry);
  }
  return out;
}

void RecordIndex::add(IndexEntry entry) {
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  slots_.emplace(entry.offset, slot);
  entry.incarnation = incarnation_;
  entry.crc = crc_of(entry);
  constexpr std::size_t kOffset = sizeof entry.offset;
  static_assert(offsetof(IndexEntry, offset) == 0);
  const auto bytes = std::as_bytes(std::span(&entry, 1)).subspan(kOffset);
  std::memcpy(reinterpret_cast<std::byte*>(at(slot)) + kOffset, bytes.data(), bytes.size());
  set_offset(slot, entry.offset);
}

void RecordIndex::remove(std::uint64_t offset) {
  const auto found = slots_.find(offset);
  if (found == slots_.end()) return;
  set_offset(found->second, 0);
  free_.push_back(found->second);
  slots_.erase(found);
}

}  // namespace tributary::pool
