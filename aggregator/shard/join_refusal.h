// Why a switch is not taken into a job by the one above it: what its NACK says, which passes down
// to the workers as it came.
//
// Of a packet: its numbers are for people, and nothing is decided by them.
#pragma once

#include <cstdint>

#include "core/wire/header.h"

namespace tributary::aggregator {

struct JoinRefusal {
  wire::Reason why = wire::Reason::none;
  // Of planes_mismatch: two switches, one right above the other, by id, and how many planes beyond
  // the first each has of the job.
  std::uint32_t below = 0;
  std::uint32_t above = 0;
  std::uint32_t further_planes_below = 0;
  std::uint32_t further_planes_above = 0;

  bool operator==(const JoinRefusal&) const = default;
};

inline JoinRefusal read_refusal(const wire::Header& nack) {
  if (nack.reason != wire::Reason::planes_mismatch) return {.why = nack.reason};
  return {nack.reason, nack.origin, nack.slot, nack.op, nack.chunk};
}

inline void write_refusal(const JoinRefusal& refusal, wire::Header& nack) {
  nack.reason = refusal.why;
  if (refusal.why != wire::Reason::planes_mismatch) return;
  nack.origin = refusal.below;
  nack.slot = refusal.above;
  nack.op = refusal.further_planes_below;
  nack.chunk = refusal.further_planes_above;
}

}  // namespace tributary::aggregator
