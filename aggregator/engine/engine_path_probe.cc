// Path probes (protocol, "Path probes"): a PROBE of epoch 0, which no epoch has, asks how a rank
// would be received, without joining. The answer is a NACK, and neither counts as a drop:
//
//   slot 0       the job's settings, and the switch to ask if the rank is not of this one
//   slot         so many of the probe's elements back, to try packets of that size
//
// An answer is never longer than its probe, and leaves at the rate of refusals.
#include <algorithm>

#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {
namespace {

// The place of this packet's rank in the job, as far as this switch knows it.
struct RankPlace {
  wire::Reason refusal = wire::Reason::not_joined;  // it may join here
  std::uint32_t ask_ipv4 = 0;                       // the switch to ask instead, if one is known
  std::uint32_t ask_id = 0;
};

RankPlace place_of(const Job& job, std::uint32_t rank, const Endpoint& from) {
  if (rank == wire::kUnknownRank) return {};  // the sender names no rank
  if (rank >= job.config.workers) return {wire::Reason::bad_rank, 0, 0};
  if (config::resizes(job.config)) return {};
  const auto child = job.child_map.child_of(rank);
  if (!child) {
    if (!job.config.parent) return {wire::Reason::bad_rank, 0, 0};
    return {wire::Reason::bad_rank, job.config.parent->ipv4, job.config.parent->id};
  }
  if (const ChildMap::Child& c = job.child_map[*child]; c.is_switch)
    return {wire::Reason::bad_rank, c.ipv4, c.id};
  if (!job.membership.may_be_at(*child, from.port())) return {wire::Reason::sender_mismatch, 0, 0};
  return {};
}

// Brings the first elements back.
void bring_back(const wire::Packet& probe, bool sealed, Outgoing& answer) {
  constexpr std::size_t kSealBytes = 8;  // of a CRC32C, which is added later
  const std::size_t seal = sealed ? kSealBytes : 0;
  if (probe.payload.size() <= seal) return;
  const std::size_t bytes = std::min<std::size_t>(probe.header.slot, probe.payload.size() - seal);
  answer.header.dtype = wire::DType::uint8;
  answer.header.element_count = static_cast<std::uint16_t>(bytes);
  answer.payload = probe.payload.first(bytes);
}

}  // namespace

Decision Engine::Impl::answer_path_probe(const Job* job, const wire::Packet& packet,
                                         const Endpoint& from, Outbox& out) {
  const RankPlace place = job == nullptr ? RankPlace{wire::Reason::unknown_job, 0, 0}
                                         : place_of(*job, packet.header.origin, from);
  if (refuse(packet, from, place.refusal, DropReason::none, nullptr, out).verdict ==
      Verdict::dropped)
    return {Verdict::noted};  // no room for an answer: it is asked for again
  Outgoing& answer = out.last();
  answer.header.slot = place.ask_ipv4;
  answer.header.origin = place.ask_id;
  if (job == nullptr) return {Verdict::answered};
  if (takes_fragments) answer.header.flags = wire::kFlagFragments;
  if (packet.header.slot != 0) {
    bring_back(packet, job->config.integrity == wire::Integrity::crc32c, answer);
    return {Verdict::answered};
  }
  wire::ExtensionWriter ext(answer.extensions);
  ext.add(start_info(*job));
  if (ext.bytes().size() <= packet.payload.size()) answer.extension_bytes = ext.bytes().size();
  return {Verdict::answered};
}

}  // namespace tributary::aggregator
