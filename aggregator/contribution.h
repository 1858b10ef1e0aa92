// One child's data for one chunk, however it arrived (protocol rule 20): the header of an
// aggregation packet is one front-end that fills it; others may follow.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/extension.h"
#include "core/wire/header.h"

namespace tributary::aggregator {

// What every rank must agree on for a chunk; two contributions that differ end the epoch.
// Three words without padding, so that comparing two of them takes three instructions.
struct ChunkDescription {
  static constexpr std::uint16_t kNoTarget = 0xFFFF;

  std::uint32_t op = 0;
  std::uint32_t chunk = 0;
  std::uint64_t total_elements = 0;  // of the op; 0: not stated with this chunk
  std::uint16_t element_count = 0;
  std::int16_t scale_exponent = 0;
  std::uint16_t target = kNoTarget;  // the rank that alone gets the payload
  wire::DType dtype : 4 = wire::DType::none;
  wire::ReduceOp reduce_op : 4 = wire::ReduceOp::sum;
  wire::Collective collective : 4 = wire::Collective::allreduce;
  wire::Encoding encoding : 3 = wire::Encoding::plain;
  bool last : 1 = false;

  bool operator==(const ChunkDescription&) const = default;
  // Equal, except that a total may be stated by one of the two only.
  [[nodiscard]] bool agrees_with(const ChunkDescription& other) const {
    using Words = std::array<std::uint64_t, 3>;
    const auto a = std::bit_cast<Words>(*this);
    const auto b = std::bit_cast<Words>(other);
    return a[0] == b[0] && a[2] == b[2] && (a[1] == b[1] || a[1] == 0 || b[1] == 0);
  }
  [[nodiscard]] std::size_t payload_bytes() const {
    return std::size_t{element_count} * wire::size_of(dtype);
  }
};
static_assert(sizeof(ChunkDescription) == 24);

// The same chunk in its second attempt (rule 12).
inline ChunkDescription as_float(ChunkDescription d) {
  d.dtype = wire::DType::float32;
  d.encoding = wire::Encoding::plain;
  d.scale_exponent = 0;
  return d;
}

struct Contribution {
  ChunkDescription description;
  std::uint32_t seq = 0;
  std::uint16_t child = 0;
  std::uint8_t shard = 0;
  bool resend = false;
  bool at_ps = false;                  // asks for the completion engine (O2, O6)
  bool overflow = false;               // of a sum: sticky (rule 12)
  std::span<const std::byte> payload;  // element_count × size of dtype bytes, checked
};

// One rank alone gets the payload of such a result.
constexpr bool has_target(wire::Collective c) {
  return c == wire::Collective::reduce || c == wire::Collective::reduce_scatter;
}
// One rank's data is passed on to all; nothing is combined.
constexpr bool is_passed_on(wire::Collective c) {
  return c == wire::Collective::broadcast || c == wire::Collective::all_gather;
}

// Why a packet goes to the completion engine: ESCALATION says it, data shows it by its flags.
inline wire::Reason escalation_reason(const wire::Header& h) {
  if (h.reason != wire::Reason::none && h.reason <= wire::Reason::verify) return h.reason;
  if ((h.flags & wire::kFlagCollision) != 0) return wire::Reason::collision;
  if ((h.flags & wire::kFlagResend) != 0) return wire::Reason::resend;
  if ((h.flags & (wire::kFlagBypass | wire::kFlagExcluded)) != 0) return wire::Reason::excluded;
  return wire::Reason::none;
}

inline ChunkDescription describe(const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  ChunkDescription d;
  d.op = h.op;
  d.chunk = h.chunk;
  d.element_count = h.element_count;
  d.dtype = h.dtype;
  d.reduce_op = h.reduce_op;
  d.collective = h.collective;
  d.encoding = h.encoding;
  if (h.encoding == wire::Encoding::block_scaled) d.scale_exponent = h.scale_exponent;
  d.last = (h.flags & wire::kFlagLast) != 0;
  if (packet.extensions.empty()) return d;
  if (const auto info = wire::find_task_information(packet.extensions))
    d.total_elements = info->total_elements;
  if (has_target(h.collective)) {
    const auto target = wire::find_target_rank(packet.extensions);
    if (target && *target < ChunkDescription::kNoTarget)
      d.target = static_cast<std::uint16_t>(*target);
  }
  return d;
}

// A sum; or a worker's fixed-point numbers, some of which were out of range.
constexpr bool may_overflow(const wire::Header& h) {
  return h.type == wire::PacketType::aggregate || h.encoding == wire::Encoding::block_scaled;
}

inline Contribution contribution_of(const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  return {describe(packet),
          h.seq,
          h.child,
          h.shard,
          (h.flags & wire::kFlagResend) != 0,
          (h.flags & wire::kFlagAtPs) != 0,
          may_overflow(h) && (h.flags & wire::kFlagOverflow) != 0,
          packet.payload};
}

}  // namespace tributary::aggregator
