// Which faults struck chunks in which state, and members that are out of their mind now and then.
#include <algorithm>
#include <cstring>

#include "core/net/byte_order.h"
#include "sim/check/checker.h"
#include "sim/network/packet_view.h"
#include "sim/network/trace.h"
#include "sim/node/rank_card.h"
#include "sim/node/server_node.h"

namespace tributary::sim {
namespace {

using aggregator::ChunkState;
using wire::PacketType;

constexpr std::size_t kRemembered = 16;

bool names_chunk(PacketType type) {
  return type == PacketType::contribution || type == PacketType::result ||
         type == PacketType::aggregate || type == PacketType::probe ||
         type == PacketType::pending || type == PacketType::unknown || type == PacketType::ack;
}

}  // namespace

// Now and then a worker is out of its mind, too: it repeats something it sent lately, bent.
void Checker::on_contribution(WorkerNode& node, const FrameRef& frame) {
  note_sent(node, frame);
  if (scenario_.hostile.faulty_ppm == 0 || Instant() + scenario_.heal_at <= world_->now()) return;
  auto& lately = contributions_[node.id()];
  lately.push_back(frame);
  if (lately.size() > kRemembered) lately.pop_front();
  if (!random_.chance_ppm(scenario_.hostile.faulty_ppm)) return;
  const FrameRef& base = lately[random_.below(static_cast<std::uint32_t>(lately.size()))];
  config::JobConfig job;
  job.chunk_bytes = node.options().job->carried_chunk_bytes();
  job.shards = node.options().job->shards;
  const Draft draft = *take_apart(base.bytes());
  // A refusal would end the epoch that the worker runs: it may lie, but not about who it is.
  if (draft.header.epoch != node.session()->epoch()) return;
  FrameRef bent = put_together(world_->frames(), bend(draft, job, random_));
  bent.writable().truth.forged = true;
  count_frame_fault(FaultKind::faulty_member, base);
  node.send_extra(bent);
}

// Switches let no stranger's frame through to the group of a job, and none that bears a rank's
// switch's address.
void Checker::on_heard(WorkerNode& node, const FrameRef& frame) {
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
    violation(node.name() + " has heard a forged frame: " + describe_frame(frame.bytes()));
}

void Checker::on_hostile(FaultKind kind, const FrameRef& frame) {
  const auto packet = view_packet(frame.bytes());
  if (kind == FaultKind::garbage || !packet || !names_chunk(packet->header.type))
    return count_node_fault(kind);
  count_frame_fault(kind, frame);
}

bool Checker::is_answer(const FrameRef& frame) const {
  const auto parts = view_parts(frame.bytes());
  if (!parts) return false;
  const std::uint32_t from = parts->udp.endpoints.source_ip;
  return std::any_of(aggregators_.begin(), aggregators_.end(),
                     [from](const SwitchNode* s) { return s->config().ipv4 == from; }) ||
         std::any_of(servers_.begin(), servers_.end(),
                     [from](const ServerNode* s) { return s->ipv4() == from; });
}

const SwitchNode& Checker::concerned(const FrameRef& frame) const {
  if (aggregators_.size() == 1) return *aggregators_[0];
  if (const auto parts = view_parts(frame.bytes()))
    for (const std::uint32_t address :
         {parts->udp.endpoints.destination_ip, parts->udp.endpoints.source_ip})
      for (const SwitchNode* node : aggregators_)
        if (node->config().ipv4 == address) return *node;
  return *aggregators_[0];
}

void Checker::count_frame_fault(FaultKind kind, const FrameRef& frame) {
  if (kind == FaultKind::queue_full || kind == FaultKind::backlog_full)
    last_overfull_ = world_->now();
  const SwitchNode& node = concerned(frame);
  const auto packet = view_packet(frame.bytes());
  if (node.engine() == nullptr || !packet || !names_chunk(packet->header.type)) return;
  const wire::Header& h = packet->header;
  const auto job = index_of(h.job);
  if (!job || h.shard >= jobs_[*job].scenario->shards) return;
  const std::uint32_t seq = h.type == PacketType::ack ? h.seq - 1 : h.seq;
  reach_.fault(kind, node.chunk_state(h.job, h.shard, seq));
}

void Checker::count_node_fault(FaultKind kind) {
  std::array<bool, kChunkStateCount> seen{};
  for (const SwitchNode* node : aggregators_) {
    if (node->engine() == nullptr) continue;
    for (const JobView& view : jobs_) {
      const JobScenario& job = *view.scenario;
      if (node->job(job.id) == nullptr) continue;
      for (std::uint8_t shard = 0; shard < job.shards; ++shard)
        for (std::uint32_t back = 0; back <= 2 * job.window; ++back) {
          const auto state = node->chunk_state(job.id, shard, view.last_seq[shard] + 1 - back);
          seen[static_cast<std::size_t>(state)] = true;
        }
    }
  }
  for (std::size_t s = 0; s < seen.size(); ++s)
    if (seen[s]) reach_.fault(kind, static_cast<ChunkState>(s));
}

}  // namespace tributary::sim
