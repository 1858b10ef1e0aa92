#include "pool/record/manifest.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/net/checksum.h"
#include "pool/record/bytes.h"
#include "pool/record/placement.h"
#include "pool/record/record.h"

namespace tributary::pool {
namespace {

constexpr std::array<char, 8> kMagic = {'T', 'R', 'B', 'P', 'O', 'O', 'L', '1'};
constexpr std::size_t kMaxName = 4096;
constexpr std::uint64_t kMaxShards = 1u << 28;

struct RawHead {
  std::array<char, 8> magic;
  std::uint32_t format;
  std::uint32_t shards;
  std::uint64_t records;
  std::uint64_t record_bytes;
  std::uint64_t header_bytes;
  std::uint64_t shard_bytes;  // of the section with the shards
  std::uint64_t fingerprint;  // CRC32C of the head before it, and of all bytes after the head
  std::uint64_t reserved;
};
static_assert(sizeof(RawHead) == 64);

std::uint64_t fingerprint_of(const RawHead& head, std::span<const std::byte> rest) {
  const auto before = std::as_bytes(std::span(&head, 1)).first(offsetof(RawHead, fingerprint));
  return std::uint64_t{wire::crc32c(before)} << 32 | wire::crc32c(rest, wire::crc32c(before));
}

void check_length(std::uint64_t length, const std::string& name) {
  if (length > kMaxRecordBytes)
    throw ManifestError(name + ": a record of " + std::to_string(length) +
                        " bytes; allowed: at most " + std::to_string(kMaxRecordBytes));
}

}  // namespace

std::vector<std::byte> write_manifest(Format format, std::uint64_t record_bytes,
                                      std::uint64_t header_bytes, std::vector<Shard> shards,
                                      std::span<const ManifestEntry> entries) {
  if (shards.size() > kMaxShards) throw ManifestError("too many shards");
  RawHead head{kMagic,
               static_cast<std::uint32_t>(format),
               static_cast<std::uint32_t>(shards.size()),
               0,
               record_bytes,
               header_bytes,
               0,
               0,
               0};
  ByteWriter out;
  out.raw(std::as_bytes(std::span(&head, 1)));
  for (Shard& shard : shards) {
    if (format == Format::files) check_length(shard.bytes, shard.name);
    shard.first = head.records;
    head.records += shard.records;
    out.text(shard.name);
    out.number(shard.bytes), out.number(shard.version), out.number(shard.records);
  }
  head.shard_bytes = out.size() - sizeof head;
  for (const ManifestEntry& entry : entries) check_length(entry.length, "tar");
  out.raw(std::as_bytes(entries));
  head.fingerprint = fingerprint_of(head, std::span(out.bytes()).subspan(sizeof head));
  std::memcpy(out.bytes().data(), &head, sizeof head);
  return std::move(out.bytes());
}

Manifest::Manifest(std::span<const std::byte> bytes) {
  RawHead head{};
  if (bytes.size() < sizeof head) throw ManifestError("is shorter than a manifest's head");
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.magic != kMagic) throw ManifestError("is no manifest of a pool");
  const auto rest = bytes.subspan(sizeof head);
  if (head.fingerprint != fingerprint_of(head, rest))
    throw ManifestError("is damaged: its checksum does not fit");
  if (head.format > static_cast<std::uint32_t>(Format::tar) || head.shards > kMaxShards ||
      head.shard_bytes > rest.size())
    throw ManifestError("has a head that makes no sense");
  fingerprint_ = head.fingerprint;
  head_ = {static_cast<Format>(head.format), head.records, head.record_bytes, head.header_bytes};
  shards_.resize(std::min<std::uint64_t>(head.shards, head.shard_bytes / 28));
  if (shards_.size() != head.shards) throw ManifestError("has fewer shards than its head says");
  read_shards(rest.first(head.shard_bytes));
  entries_ = rest.subspan(head.shard_bytes);
  check_entries();
  group_shift_ = group_shift_for(head_.records == 0 ? 1 : data_bytes_ / head_.records);
}

void Manifest::read_shards(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  std::uint64_t next = 0;
  for (Shard& shard : shards_) {
    shard.name = in.text(kMaxName);
    shard.bytes = in.number<std::uint64_t>();
    shard.version = in.number<std::uint64_t>();
    shard.records = in.number<std::uint64_t>();
    shard.first = next;
    if (!in.good()) throw ManifestError("ends in its list of shards");
    if (shard.records > head_.records - next)
      throw ManifestError(shard.name + ": more records than the manifest has");
    next += shard.records;
    data_bytes_ += shard.bytes;
    if (head_.format == Format::files && (shard.records != 1 || shard.bytes > kMaxRecordBytes))
      throw ManifestError(shard.name + ": is not one record");
    if (head_.format == Format::files)
      longest_ = std::max(longest_, static_cast<std::uint32_t>(shard.bytes));
    if (head_.format == Format::fixed &&
        (head_.record_bytes == 0 || head_.record_bytes > kMaxRecordBytes ||
         shard.bytes < head_.header_bytes ||
         shard.records > (shard.bytes - head_.header_bytes) / head_.record_bytes))
      throw ManifestError(shard.name + ": is shorter than its records");
  }
  if (!in.done() || next != head_.records)
    throw ManifestError("has shards of " + std::to_string(next) + " records, its head says " +
                        std::to_string(head_.records));
}

void Manifest::check_entries() {
  const bool tar = head_.format == Format::tar;
  if (head_.format == Format::fixed) longest_ = static_cast<std::uint32_t>(head_.record_bytes);
  if (entries_.size() / sizeof(ManifestEntry) != (tar ? head_.records : 0) ||
      entries_.size() % sizeof(ManifestEntry) != 0)
    throw ManifestError("has entries of other records than its shards");
  if (!tar) return;
  std::size_t shard = 0;
  for (std::uint64_t id = 0; id < head_.records; ++id) {
    while (id >= shards_[shard].first + shards_[shard].records) ++shard;
    const Source at = source(id);
    if (at.shard != shard || at.length > kMaxRecordBytes || at.offset > shards_[shard].bytes ||
        at.length > shards_[shard].bytes - at.offset)
      throw ManifestError("record " + std::to_string(id) + " is not inside of its shard " +
                          shards_[shard].name);
    longest_ = std::max(longest_, at.length);
  }
}

Source Manifest::source(std::uint64_t id) const {
  if (head_.format == Format::tar) {
    ManifestEntry entry;
    std::memcpy(&entry, entries_.data() + id * sizeof entry, sizeof entry);
    return {entry.shard, entry.offset, entry.length};
  }
  if (head_.format == Format::files)
    return {static_cast<std::uint32_t>(id), 0, static_cast<std::uint32_t>(shards_[id].bytes)};
  const auto behind = std::upper_bound(
      shards_.begin(), shards_.end(), id,
      [](std::uint64_t wanted, const Shard& shard) { return wanted < shard.first; });
  const auto shard = static_cast<std::size_t>(behind - shards_.begin()) - 1;
  return {static_cast<std::uint32_t>(shard),
          head_.header_bytes + (id - shards_[shard].first) * head_.record_bytes,
          static_cast<std::uint32_t>(head_.record_bytes)};
}

}  // namespace tributary::pool
