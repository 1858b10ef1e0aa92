// Why the switch above refuses this one for a job: the content of its NACK, which is passed down to
// the workers unchanged.
//
// Comes from a packet: its numbers are shown to the operator only; no decision depends on them.
#pragma once

#include <cstdint>

#include "core/wire/header.h"

namespace tributary::aggregator {

struct JoinRefusal {
  wire::Reason why = wire::Reason::none;
  // For planes_mismatch: the ids of two neighbouring switches, and the number of planes beyond the
  // first that each has for the job.
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
