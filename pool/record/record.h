// What stands in a node's memory for one record: a header, then the data (L4).
//
//   64-byte boundary ▶ | RecordHeader, 32 bytes | data, `length` bytes | padding |
//
// A reader fetches header and data in one READ, so what it checks belongs to what it got: a header
// that was read separately may be that of another record by then. `incarnation` is drawn when a
// segment is formatted; memory that a reissued key addresses has another one. `generation` counts
// the records that a segment was ever given. All numbers are in little endian.
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
// Longer ones are cut by the maker of a manifest; a READ of rdmacm carries at most 2 GiB.
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

// What a header with its data takes of a segment.
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

// True for a header that was made by make_header() for this incarnation.
inline bool is_header(const RecordHeader& header, std::uint32_t incarnation) {
  return header.magic == kRecordMagic && header.incarnation == incarnation &&
         header.length <= kMaxRecordBytes && header.header_crc == header_crc_of(header);
}

// What a reader that wanted (id, generation, length) of an incarnation makes of what it got.
enum class ReadCheck : std::uint8_t {
  good,
  stale,    // another record, generation or segment is there now: look it up again
  corrupt,  // the right header, and data that it does not fit
};
struct Expected {
  std::uint64_t id;
  std::uint32_t generation;
  std::uint32_t length;
  std::uint32_t incarnation;
};
inline ReadCheck check_read(const RecordHeader& header, std::span<const std::byte> data,
                            const Expected& expected) {
  if (!is_header(header, expected.incarnation) || header.id != expected.id ||
      header.generation != expected.generation || header.length != expected.length ||
      data.size() != expected.length)
    return ReadCheck::stale;
  return wire::crc32c(data) == header.data_crc ? ReadCheck::good : ReadCheck::corrupt;
}

}  // namespace tributary::pool
