// One child's data for one chunk, however it arrived (protocol rule 20): the header of an
// aggregation packet is one front-end that fills it; others may follow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/wire/extension.h"
#include "core/wire/header.h"

namespace tributary::aggregator {

// What every rank must agree on for a chunk; two contributions that differ end the epoch.
struct ChunkDescription {
  std::uint32_t op = 0;
  std::uint32_t chunk = 0;
  std::uint64_t total_elements = 0;  // of the op; 0: not stated with this chunk
  std::uint16_t element_count = 0;
  wire::DType dtype = wire::DType::none;
  wire::ReduceOp reduce_op = wire::ReduceOp::sum;
  wire::Collective collective = wire::Collective::allreduce;
  bool last = false;
  bool operator==(const ChunkDescription&) const = default;
};

struct Contribution {
  ChunkDescription description;
  std::uint32_t seq = 0;
  std::uint16_t child = 0;
  std::uint8_t shard = 0;
  bool resend = false;
  std::span<const std::byte> payload;  // element_count × size of dtype bytes, checked
};

inline ChunkDescription describe(const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  ChunkDescription d{h.op,
                     h.chunk,
                     0,
                     h.element_count,
                     h.dtype,
                     h.reduce_op,
                     h.collective,
                     (h.flags & wire::kFlagLast) != 0};
  if (!packet.extensions.empty()) {
    if (const auto info = wire::find_task_information(packet.extensions))
      d.total_elements = info->total_elements;
  }
  return d;
}

inline Contribution contribution_of(const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  return {describe(packet), h.seq, h.child, h.shard, (h.flags & wire::kFlagResend) != 0,
          packet.payload};
}

}  // namespace tributary::aggregator
