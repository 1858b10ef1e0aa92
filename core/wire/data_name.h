// Names of data (docs/protocol/names.md):
//
//   /job/<job>/run=<run>/<tensor>/v=<version>/seg=<segment>[/worker=<rank>]
//
// <tensor> has one or more parts; <run> says which incarnation of the job is meant. Without `seg` a
// name means a whole value. Numbers are decimal, without leading zeros, so a name has one spelling.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/wire/extension.h"

namespace tributary::wire {

inline constexpr std::size_t kMaxNameBytes = 160;
inline constexpr std::uint32_t kMaxSegments = 1u << 24;

// Texts are views into the name that was parsed.
struct DataName {
  std::uint32_t job = 0;
  std::string_view run;     // empty: none given
  std::string_view tensor;  // with the slashes between its parts
  std::uint64_t version = 0;
  std::optional<std::uint32_t> segment;
  std::optional<std::uint32_t> worker;  // the rank that alone may give the value
  bool operator==(const DataName&) const = default;
};

// nullptr, and `name` is filled; or what is wrong with the text, which completes "the name ...".
const char* parse_name(std::string_view text, DataName& name);
// The same for a name in a packet, which says run and segment.
const char* parse_wire_name(std::string_view text, DataName& name);

// The text of a name; empty if it is longer than kMaxNameBytes.
using NameBuffer = std::array<char, kMaxNameBytes>;
std::string_view write_name(const DataName& name, NameBuffer& buffer);

// Description of a segment, and of its value, in every packet that has one.
struct ValueInfo {
  std::uint64_t digest = 0;  // XXH64 of the segment, seed 0
  std::uint64_t bytes = 0;   // of the whole value
  std::uint32_t segments = 0;
  std::uint64_t whole = 0;        // XXH64 of the whole value, seed 0; 0: not known
  std::uint32_t lifetime_ms = 0;  // until the name expires at the sender; 0: not known

  [[nodiscard]] bool is_of_same_value(const ValueInfo& o) const {
    return bytes == o.bytes && segments == o.segments && whole == o.whole;
  }
  [[nodiscard]] bool is_same_segment(const ValueInfo& o) const {
    return digest == o.digest && is_of_same_value(o);
  }
  bool operator==(const ValueInfo&) const = default;
};

bool add_name(ExtensionWriter& extensions, std::string_view name);
bool add_value_info(ExtensionWriter& extensions, const ValueInfo& info);
std::optional<std::string_view> find_name(std::span<const std::byte> area);
std::optional<ValueInfo> find_value_info(std::span<const std::byte> area);

// Bytes that a packet's extensions take beyond the 64 that every packet may have.
inline constexpr std::size_t kNameExtensionBytes = 4 + kMaxNameBytes + 36 + 8;
inline constexpr std::size_t kNameBytesBeyondUsual = (kNameExtensionBytes + 7) / 8 * 8 - 64;
// The least chunk size of a job with names, and how much of a value fits a packet then.
inline constexpr std::uint32_t kMinNamedChunkBytes = 256;
constexpr std::uint32_t segment_bytes(std::uint32_t chunk_bytes) {
  return chunk_bytes - static_cast<std::uint32_t>(kNameBytesBeyondUsual);
}
static_assert(kNameBytesBeyondUsual < kMinNamedChunkBytes);

// A packet of named data, which the engine of names handles.
constexpr bool concerns_name(PacketType type) {
  return type >= PacketType::put;
}

}  // namespace tributary::wire
