#include "sim/rules/host_checker.h"

#include "sim/network/packet_view.h"

namespace tributary::sim {

HostChecker::HostChecker(CheckedRun& run) : run_(run) {
  for (const JobScenario& job : run.scenario().jobs) appointments_.emplace_back(job.shards);
}

void HostChecker::check_appointment(const std::string& node, const aggregator::Outgoing& start) {
  const wire::Header& h = start.header;
  Appointment& last = appointments_[*run_.index_of(h.job)][h.shard];
  const auto info = wire::find_start_info(start.extension_span());
  const Appointment now{ipv4_of(start.peer.node()), info->host_term,
                        *wire::find_nonce(start.extension_span())};
  if (now.nonce == last.nonce &&
      (now.term < last.term || (now.term == last.term && now.host != last.host)))
    run_.violation(node + " appoints a second host under term " + std::to_string(now.term));
  last = now;
}

void HostChecker::check_result(const std::string& node, const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  const Appointment& last = appointments_[*run_.index_of(h.job)][h.shard];
  const auto info = wire::find_result_info(packet.extensions);
  if (!info || info->host_term != last.term)
    run_.violation(node + " took a result of a term that does not hold");
}

// A root's packets are right, but may be late, or of a term that is over.
void HostChecker::check_drop(const std::string& node, const FrameRef& frame, DropReason reason) {
  if (reason != DropReason::overlap)
    run_.reach().server_drops[static_cast<std::size_t>(reason)] += 1;
  if (frame.truth().forged || frame.truth().corrupted) return;
  switch (reason) {
    case DropReason::duplicate:
    case DropReason::overlap:
    case DropReason::no_slot:
    case DropReason::not_joined:
    case DropReason::stale_seq:
    case DropReason::stale_epoch:
    case DropReason::stale_term: return;
    case DropReason::op_mismatch:
      // A probe is compared with what another rank has sent.
      if (const auto packet = view_packet(frame.bytes());
          packet && run_.index_of(packet->header.job) && run_.job(packet->header.job).disagree)
        return;
      [[fallthrough]];
    default:
      run_.violation(node + " refused an intact packet (" + drop_label(reason) +
                     "): " + describe_frame(frame.bytes()));
  }
}

}  // namespace tributary::sim
