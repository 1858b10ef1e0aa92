// Why the switch above refuses this one for a job: the content of its NACK, which is passed down to
// the workers unchanged.
//
// Comes from a packet: its numbers are shown to the operator only; no decision depends on them.
#pragma once

#include <cstdint>

#include "core/wire/header.h"
#include "core/wire/open_job.h"

namespace tributary::aggregator {

struct JoinRefusal {
  wire::Reason why = wire::Reason::none;
  // For planes_mismatch: the ids of two neighbouring switches, and the number of planes beyond the
  // first that each has for the job. For open_refused and other_task: see there, below. For
  // other_run: a rank that waits, where it is (IPv4 address and UDP port), and 0.
  std::uint32_t below = 0;
  std::uint32_t above = 0;
  std::uint32_t further_planes_below = 0;
  std::uint32_t further_planes_above = 0;

  bool operator==(const JoinRefusal&) const = default;
};

// The job `is` there already; `by` this switch.
inline JoinRefusal other_task(const wire::OpenJob& is, std::uint32_t by) {
  return {wire::Reason::other_task, std::uint32_t{is.units} << 16 | is.nodes, by, is.window,
          is.chunk_bytes};
}
// The job would bring what all opened ones need to `needed`, where there is `there`.
inline JoinRefusal open_refused(wire::OpenLimit what, std::uint32_t by, std::uint32_t needed,
                                std::uint32_t there) {
  return {wire::Reason::open_refused, static_cast<std::uint32_t>(what), by, needed, there};
}

inline bool has_figures(wire::Reason why) {
  return why == wire::Reason::planes_mismatch || why == wire::Reason::open_refused ||
         why == wire::Reason::other_task || why == wire::Reason::other_run;
}

inline JoinRefusal read_refusal(const wire::Header& nack) {
  if (!has_figures(nack.reason)) return {.why = nack.reason};
  return {nack.reason, nack.origin, nack.slot, nack.op, nack.chunk};
}

inline void write_refusal(const JoinRefusal& refusal, wire::Header& nack) {
  nack.reason = refusal.why;
  if (!has_figures(refusal.why)) return;
  nack.origin = refusal.below;
  nack.slot = refusal.above;
  nack.op = refusal.further_planes_below;
  nack.chunk = refusal.further_planes_above;
}

}  // namespace tributary::aggregator
