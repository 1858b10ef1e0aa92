// The layout of one record in a node's memory: a header, then the data (L4).
//
//   64-byte boundary ▶ | RecordHeader, 32 bytes | data, `length` bytes | padding |
//
// A reader fetches header and data in one READ, so the header that it checks belongs to the data: a
// header that was read separately may belong to another record. `incarnation` is drawn when a
// segment is formatted; memory under a reissued key has another one. `generation` counts all
// records that a segment was ever given. All numbers are little endian.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/net/checksum.h"

namespace tributary::pool {

static_assert(std::endian::native == std::endian::little, "headers are read as they lie in memory");

inline constexpr std::uint32_t kRecordMagic = 0x54524543;  // "CERT" in memory
inline constexpr std::uint32_t kFreedMagic = 0;
inline constexpr std::uint64_t kRecordAlignment = 64;
// A manifest must cut longer ones; an rdmacm READ carries at most 2 GiB.
inline constexpr std::uint32_t kMaxRecordBytes = 1u << 30;

struct RecordHeader {
  std::uint64_t id = 0;
  std::uint32_t generation = 0;
  std::uint32_t length = 0;
  std::uint32_t data_crc = 0;  // CRC32C of the data
  std::uint32_t incarnation = 0;
  std::uint32_t header_crc = 0;  // CRC32C of the fields before it
  std::uint32_t magic = kFreedMagic;
};
static_assert(sizeof(RecordHeader) == 32);

inline std::uint32_t header_crc_of(const RecordHeader& header) {
  return wire::crc32c(
      std::as_bytes(std::span(&header, 1)).first(offsetof(RecordHeader, header_crc)));
}

// The bytes of a segment that a header with its data takes.
constexpr std::uint64_t footprint(std::uint64_t length) {
  return (sizeof(RecordHeader) + length + kRecordAlignment - 1) / kRecordAlignment *
         kRecordAlignment;
}

inline RecordHeader make_header(std::uint64_t id, std::uint32_t generation,
                                std::uint32_t incarnation, std::span<const std::byte> data) {
  RecordHeader header{
      id, generation,  static_cast<std::uint32_t>(data.size()), wire::crc32c(data), incarnation,
      0,  kRecordMagic};
  header.header_crc = header_crc_of(header);
  return header;
}

// True if make_header() made the header for this incarnation.
inline bool is_header(const RecordHeader& header, std::uint32_t incarnation) {
  return header.magic == kRecordMagic && header.incarnation == incarnation &&
         header.length <= kMaxRecordBytes && header.header_crc == header_crc_of(header);
}

// The result of a read for a reader that wanted (id, generation, length) of an incarnation.
enum class ReadCheck : std::uint8_t {
  good,
  stale,    // another record, generation or segment is there: look it up again
  corrupt,  // the right header, but the data does not fit it
};
struct Expected {
  std::uint64_t id;
  std::uint32_t generation;
  std::uint32_t length;
  std::uint32_t incarnation;
};
// Checks the header alone: the record read is the record wanted.
inline bool is_expected(const RecordHeader& header, const Expected& expected) {
  return is_header(header, expected.incarnation) && header.id == expected.id &&
         header.generation == expected.generation && header.length == expected.length;
}
inline ReadCheck check_read(const RecordHeader& header, std::span<const std::byte> data,
                            const Expected& expected) {
  if (!is_expected(header, expected) || data.size() != expected.length) return ReadCheck::stale;
  return wire::crc32c(data) == header.data_crc ? ReadCheck::good : ReadCheck::corrupt;
}

}  // namespace tributary::pool
