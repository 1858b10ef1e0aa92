// One child's data for one chunk, in a form that does not depend on how it arrived (protocol rule
// 20): one front end fills it from the header of an aggregation packet; others may follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/exclusion.h"
#include "core/wire/ecn.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"

namespace tributary::aggregator {

// The properties of a chunk that every rank must agree on; a difference ends the epoch. Three words
// without padding, so that comparing two of them takes three instructions.
struct ChunkDescription {
  static constexpr std::uint16_t kNoTarget = 0xFFFF;

  std::uint32_t op = 0;
  std::uint32_t chunk = 0;
  std::uint64_t total_elements = 0;  // of the op; 0: not stated with this chunk
  std::uint16_t element_count = 0;
  std::int16_t scale_exponent = 0;
  // The rank that alone gets the payload; for an op on a model, the array; for a broadcast's
  // agreement, the root.
  std::uint16_t target = kNoTarget;
  wire::DType dtype : 4 = wire::DType::none;
  wire::ReduceOp reduce_op : 4 = wire::ReduceOp::sum;
  wire::Collective collective : 4 = wire::Collective::allreduce;
  wire::Encoding encoding : 3 = wire::Encoding::plain;
  bool last : 1 = false;

  // The same as three words, each read and written at once: it is filled, compared and copied for
  // every packet, and must not wait for stores of single fields.
  [[nodiscard]] std::uint64_t word(std::size_t i) const {
    std::uint64_t value = 0;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(this) + i * sizeof value, sizeof value);
    return value;
  }
  void set_word(std::size_t i, std::uint64_t value) {
    std::memcpy(reinterpret_cast<std::byte*>(this) + i * sizeof value, &value, sizeof value);
  }
  void copy_words(const ChunkDescription& other) {
    for (std::size_t i = 0; i < 3; ++i) {
      std::uint64_t value = other.word(i);
      __asm__("" : "+r"(value));  // keeps the compiler from making one wide load of two of them
      set_word(i, value);
    }
  }

  bool operator==(const ChunkDescription& o) const {
    return ((word(0) ^ o.word(0)) | (word(1) ^ o.word(1)) | (word(2) ^ o.word(2))) == 0;
  }
  // Equal, except that only one of the two may state a total.
  [[nodiscard]] bool agrees_with(const ChunkDescription& o) const {
    return ((word(0) ^ o.word(0)) | (word(2) ^ o.word(2))) == 0 &&
           (word(1) == o.word(1) || word(1) == 0 || o.word(1) == 0);
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

// The role of this chunk in its op for OpHistory's arrivals; or that none are kept: the op has only
// this chunk here, and gets a record only if something goes wrong.
enum class KeptAs : std::uint8_t { nothing, first, last, passed_over };

struct Contribution {
  ChunkDescription description;
  std::uint32_t seq = 0;
  std::uint16_t child = 0;
  std::uint8_t shard = 0;
  bool resend = false;
  bool at_ps = false;                  // asks for the completion engine (O2, O6, rule 14)
  bool overflow = false;               // of a sum: sticky (rule 12)
  bool congested = false;              // sticky, too (rule 15)
  KeptAs kept = KeptAs::nothing;       // for data that opens a chunk
  std::span<const std::byte> payload;  // element_count × size of dtype bytes, checked
};

// True for what ranks say to their parameter server about its model as a whole: not one of the
// job's reductions, whichever those are (docs/protocol/hosts.md).
inline bool concerns_whole_model(const ChunkDescription& d) {
  return d.collective == wire::Collective::open && d.target == wire::kModelStep &&
         d.dtype == wire::DType::uint32 && d.reduce_op == wire::ReduceOp::sum;
}
// True if one rank alone gets the payload of such a result.
constexpr bool has_target(wire::Collective c) {
  return c == wire::Collective::reduce || c == wire::Collective::reduce_scatter;
}
// True if one rank's data goes to all unchanged. `of`: a ChunkDescription, or a data header.
constexpr bool is_passed_on(const auto& of) {
  return wire::moves_data(of.collective) && of.element_count != 0;
}
// True for the chunk in which all ranks state how they take part; it has nothing to combine.
constexpr bool is_agreement(const auto& of) {
  return wire::moves_data(of.collective) && of.element_count == 0;
}
constexpr bool has_elements(const ChunkDescription& d) {
  return d.dtype != wire::DType::none && !is_agreement(d);
}

// True if the result is of the op's kind: a sum may not stand for parameters, nor vice versa.
constexpr bool is_result_of(wire::Collective c, const wire::Header& result) {
  return wire::concerns_model(c) == ((result.flags & wire::kFlagParams) != 0);
}

// Why a packet goes to the completion engine: ESCALATION has a reason, data has flags.
inline wire::Reason escalation_reason(const wire::Header& h) {
  if (h.reason != wire::Reason::none && h.reason <= wire::Reason::verify) return h.reason;
  if ((h.flags & wire::kFlagCollision) != 0) return wire::Reason::collision;
  if ((h.flags & wire::kFlagResend) != 0) return wire::Reason::resend;
  if ((h.flags & (wire::kFlagBypass | wire::kFlagExcluded)) != 0) return wire::Reason::excluded;
  return wire::Reason::none;
}

// `d` must be newly constructed.
inline void describe(const wire::Packet& packet, ChunkDescription& d) {
  const wire::Header& h = packet.header;
  const auto bits = [](auto field) { return static_cast<std::uint64_t>(field); };
  const std::uint64_t scale = h.encoding == wire::Encoding::block_scaled
                                  ? static_cast<std::uint16_t>(h.scale_exponent)
                                  : 0u;
  const std::uint64_t last = (h.flags & wire::kFlagLast) != 0 ? 1 : 0;
  const std::uint64_t kinds = bits(h.dtype) | bits(h.reduce_op) << 4 | bits(h.collective) << 8 |
                              bits(h.encoding) << 12 | last << 15;
  d.set_word(0, h.op | bits(h.chunk) << 32);
  d.set_word(1, 0);
  d.set_word(2,
             h.element_count | scale << 16 | bits(ChunkDescription::kNoTarget) << 32 | kinds << 48);
  if (packet.extensions.empty()) return;
  if (const auto info = wire::find_task_information(packet.extensions))
    d.total_elements = info->total_elements;
  if (has_target(h.collective) || wire::concerns_model(h.collective) || is_agreement(h)) {
    const auto target = wire::find_target_rank(packet.extensions);
    if (target && *target < ChunkDescription::kNoTarget)
      d.target = static_cast<std::uint16_t>(*target);
  }
}

inline ChunkDescription describe(const wire::Packet& packet) {
  ChunkDescription d;
  describe(packet, d);
  return d;
}

// True for a sum, and for a worker's fixed-point numbers, some of which may be out of range.
constexpr bool may_overflow(const wire::Header& h) {
  return h.type == wire::PacketType::aggregate || h.encoding == wire::Encoding::block_scaled;
}

// Writes the op from which on a worker is excluded, or takes part again (rule 14).
inline void write_exclusion(const Exclusion& ops, wire::Header& h) {
  h.flags = ops.open() ? wire::kFlagExcluded : 0u;
  h.op = ops.open() ? ops.from : ops.until;
}

inline Contribution contribution_of(const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  Contribution c;
  describe(packet, c.description);
  c.seq = h.seq;
  c.child = h.child;
  c.shard = h.shard;
  c.resend = (h.flags & wire::kFlagResend) != 0;
  c.at_ps = (h.flags & (wire::kFlagAtPs | wire::kFlagBypass)) != 0;
  c.overflow = may_overflow(h) && (h.flags & wire::kFlagOverflow) != 0;
  c.congested = wire::is_marked(packet);
  c.payload = packet.payload;
  return c;
}

}  // namespace tributary::aggregator
