#include "sim/rules/refusal_checker.h"

#include <algorithm>
#include <cstring>

#include "core/net/byte_order.h"
#include "core/seq.h"
#include "sim/network/packet_view.h"
#include "sim/node/rank_card.h"

namespace tributary::sim {
namespace {

using aggregator::ChunkState;
using aggregator::Verdict;
using wire::PacketType;

// Messages that only the switch above may send. (ACK may be a member's own, too; and PENDING with
// that flag is a switch's below, of whose ranks not all have joined.)
bool is_from_above(const wire::Header& h) {
  const PacketType type = h.type;
  if (type == PacketType::pending) return (h.flags & wire::kFlagCompleteSubtree) == 0;
  return type == PacketType::start || type == PacketType::result || type == PacketType::unknown ||
         type == PacketType::nack || type == PacketType::abort;
}

// Reasons for which an honest packet may be refused: it is late, or its epoch is over. `moving`:
// places in the tree change, so the packet may be for the sender's old place.
bool excusable(DropReason reason, bool may_disagree, bool moving) {
  switch (reason) {
    case DropReason::bad_child:
    case DropReason::bad_fan_in:
    case DropReason::bad_coverage:
    case DropReason::join_mismatch:
    case DropReason::bad_shard:
    case DropReason::bad_type:
    case DropReason::unknown_job: return moving;
    case DropReason::duplicate:
    case DropReason::stale_seq:
    case DropReason::stale_epoch:
    case DropReason::stale_term:
    case DropReason::not_joined:
    case DropReason::sender_mismatch:
    case DropReason::aborted:
    // A sender cannot know how far the other ranks are.
    case DropReason::beyond_window: return true;
    case DropReason::op_mismatch: return may_disagree;
    default: return false;
  }
}

}  // namespace

RefusalChecker::RefusalChecker(CheckedRun& run) : run_(run) {
  const auto& changes = run.scenario().changes;
  moves_switches_ = std::any_of(changes.begin(), changes.end(),
                                [](const TreeChange& c) { return c.moved_switch.has_value(); });
}

void RefusalChecker::check_forged(const FrameRef& frame, const wire::Header& header,
                                  Verdict verdict) {
  const bool taken = verdict != Verdict::dropped && verdict != Verdict::refused;
  if (taken && is_from_above(header))
    run_.violation("a forged packet passed for one of the switch above: " +
                   describe_frame(frame.bytes()));
  if (verdict == Verdict::opened || verdict == Verdict::folded || verdict == Verdict::completed ||
      verdict == Verdict::sent_up || verdict == Verdict::epoch_aborted)
    run_.violation("a forged packet was taken for true: " + describe_frame(frame.bytes()));
}

void RefusalChecker::check_honest(const SwitchNode& at, const wire::Packet& packet,
                                  aggregator::Decision decision) {
  const wire::Header& h = packet.header;
  const JobScenario& job = run_.job(h.job);
  if (decision.reason == DropReason::none) return;
  // It would go on from an epoch that another rank has lost.
  if (h.type == PacketType::join && decision.reason == DropReason::join_mismatch &&
      wire::find_resumption(packet.extensions).resumes())
    return;
  // Late packets of ranks that have left are for places that the job does not have any more.
  const bool moving = !run_.scenario().changes.empty() || !job.resizes.empty();
  if (!excusable(decision.reason, job.disagree, moving))
    return run_.violation(at.name() + ": an honest " + wire::name_of(h.type) + " of job " +
                          std::to_string(h.job) + " rank " + std::to_string(h.origin) +
                          " was refused: " + drop_label(decision.reason));
  if (decision.reason != DropReason::stale_seq) return;
  check_not_given_up(at, packet);
}

// Rule 4: a switch may forget a chunk only if the sender has its result.
void RefusalChecker::check_not_given_up(const SwitchNode& at, const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  if (const SwitchNode* const below = switch_below(at, packet)) {
    const auto place = below->place_of(h.job);
    if (below->engine() == nullptr || !place) return;
    const auto status = below->engine()->job_status(run_.world().local_now(below->id()))[*place];
    if (status.state != aggregator::JobState::running || status.epoch != h.epoch) return;
    const ChunkState state = below->chunk_state(h.job, h.shard, h.seq);
    if (state == ChunkState::sent || state == ChunkState::escalated)
      run_.violation(at.name() + " gave up seq " + std::to_string(h.seq) + " of shard " +
                     std::to_string(h.shard) + " that " + below->name() + " still lacks");
    return;
  }
  const WorkerNode* const sender = sender_of(at, packet);
  if (sender == nullptr) return;
  const WorkerNode& node = *sender;
  const worker::Session* session = node.session();
  if (session == nullptr || session->state() != worker::SessionState::running) return;
  if (session->epoch() != h.epoch || node.holds(h.shard, h.seq)) return;
  run_.violation("the switch gave up seq " + std::to_string(h.seq) + " of shard " +
                 std::to_string(h.shard) + " that " + node.name() + " still lacks");
}

void RefusalChecker::check_refused(const SwitchNode& node, const FrameRef& frame,
                                   DropReason reason) {
  if (frame.truth().forged || frame.truth().corrupted) return;
  // Switches and servers answer where a packet says that it came from, which may have been broken.
  if (reason == DropReason::unhandled && is_answer(frame)) return;
  // In a tree that changes, the switch above may be behind another port by now.
  if (!run_.scenario().changes.empty() &&
      (reason == DropReason::sender_mismatch || reason == DropReason::wrong_ingress_port))
    return;
  // It may have no more shards, and so listen to no more ports, than its present jobs need.
  if (reason == DropReason::unhandled && !run_.scenario().changes.empty()) return;
  // A switch that moves takes along what it has just received, floods it in its new place, and it
  // comes back to who sent it.
  if (moves_switches_ &&
      (reason == DropReason::bad_source_mac || reason == DropReason::own_address))
    return;
  run_.violation(node.name() + " refused an intact frame (" + drop_label(reason) +
                 "): " + describe_frame(frame.bytes()));
}

const WorkerNode* RefusalChecker::sender_of(const SwitchNode& node,
                                            const wire::Packet& packet) const {
  const wire::Header& h = packet.header;
  if (h.type != PacketType::contribution && h.type != PacketType::probe) return nullptr;
  const config::JobConfig* const job = node.job(h.job);
  if (job == nullptr) return nullptr;
  if (!job->children.empty() &&
      (h.child >= job->children.size() || job->children[h.child].is_switch))
    return nullptr;
  return run_.ranks(*run_.index_of(h.job))[h.origin];
}

const SwitchNode* RefusalChecker::switch_below(const SwitchNode& node,
                                               const wire::Packet& packet) const {
  const config::JobConfig* const job = node.job(packet.header.job);
  const std::uint16_t child = packet.header.child;
  if (job == nullptr || child >= job->children.size() || !job->children[child].is_switch)
    return nullptr;
  for (const SwitchNode* const below : run_.aggregators())
    if (below->config().ipv4 == job->children[child].ipv4) return below;
  return nullptr;
}

// Switches let no stranger's frame through to the group of a job, and none that bears a rank's
// switch's address.
void RefusalChecker::check_heard(const WorkerNode& node, const FrameRef& frame) {
  if (!frame.truth().forged || frame.truth().corrupted) return;
  constexpr std::size_t kSource = 12;
  struct {
    wire::be32 source, destination;
  } addresses;
  const auto view = untagged(frame);
  if (!view || view->ether_type != wire::kEtherTypeIpv4 ||
      view->payload.size() < kSource + sizeof addresses)
    return;
  std::memcpy(&addresses, view->payload.data() + kSource, sizeof addresses);
  const WorkerOptions& rank = node.options();
  if (addresses.destination == config::job_group_ipv4(rank.job->id) ||
      addresses.source == rank.switch_ipv4)
    run_.violation(node.name() + " has heard a forged frame: " + describe_frame(frame.bytes()));
}

bool RefusalChecker::is_answer(const FrameRef& frame) const {
  const auto parts = view_parts(frame.bytes());
  if (!parts) return false;
  const std::uint32_t from = parts->udp.endpoints.source_ip;
  const auto aggregators = run_.aggregators();
  const auto servers = run_.servers();
  return std::any_of(aggregators.begin(), aggregators.end(),
                     [from](const SwitchNode* s) { return s->config().ipv4 == from; }) ||
         std::any_of(servers.begin(), servers.end(),
                     [from](const ServerNode* s) { return s->ipv4() == from; });
}

}  // namespace tributary::sim
