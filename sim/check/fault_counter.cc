#include "sim/check/fault_counter.h"

#include <array>

#include "core/seq.h"
#include "sim/network/packet_view.h"

namespace tributary::sim {
namespace {

using aggregator::ChunkState;
using wire::PacketType;

bool names_chunk(PacketType type) {
  return type == PacketType::contribution || type == PacketType::result ||
         type == PacketType::aggregate || type == PacketType::probe ||
         type == PacketType::pending || type == PacketType::unknown || type == PacketType::ack;
}

}  // namespace

FaultCounter::FaultCounter(CheckedRun& run) : run_(run) {
  for (std::uint32_t job = 0; job < run.scenario().jobs.size(); ++job) {
    last_seq_.emplace_back();
    epoch_started(job);
  }
}

void FaultCounter::epoch_started(std::uint32_t job_index) {
  const Scenario& s = run_.scenario();
  last_seq_[job_index].assign(s.jobs[job_index].shards, s.first_seq - 1);
}

void FaultCounter::chunk_begun(std::uint32_t job_index, std::uint8_t shard, std::uint32_t seq) {
  std::uint32_t& last = last_seq_[job_index][shard];
  if (seq_before(last, seq)) last = seq;
}

void FaultCounter::count_hostile(FaultKind kind, const FrameRef& frame) {
  const auto packet = view_packet(frame.bytes());
  if (kind == FaultKind::garbage || !packet || !names_chunk(packet->header.type))
    return count_node_fault(kind);
  count_frame_fault(kind, frame);
}

const SwitchNode& FaultCounter::concerned(const FrameRef& frame) const {
  const auto aggregators = run_.aggregators();
  if (aggregators.size() == 1) return *aggregators[0];
  if (const auto parts = view_parts(frame.bytes()))
    for (const std::uint32_t address :
         {parts->udp.endpoints.destination_ip, parts->udp.endpoints.source_ip})
      for (const SwitchNode* node : aggregators)
        if (node->config().ipv4 == address) return *node;
  return *aggregators[0];
}

void FaultCounter::count_frame_fault(FaultKind kind, const FrameRef& frame) {
  const SwitchNode& node = concerned(frame);
  const auto packet = view_packet(frame.bytes());
  if (node.engine() == nullptr || !packet || !names_chunk(packet->header.type)) return;
  const wire::Header& h = packet->header;
  if (!run_.index_of(h.job) || h.shard >= run_.job(h.job).shards) return;
  const std::uint32_t seq = h.type == PacketType::ack ? h.seq - 1 : h.seq;
  run_.reach().fault(kind, node.chunk_state(h.job, h.shard, seq));
}

void FaultCounter::count_node_fault(FaultKind kind) {
  std::array<bool, kChunkStateCount> seen{};
  for (const SwitchNode* node : run_.aggregators()) {
    if (node->engine() == nullptr) continue;
    for (std::size_t index = 0; index < last_seq_.size(); ++index) {
      const JobScenario& job = run_.scenario().jobs[index];
      if (node->job(job.id) == nullptr) continue;
      for (std::uint8_t shard = 0; shard < job.shards; ++shard)
        for (std::uint32_t back = 0; back <= 2 * job.window; ++back) {
          const auto state = node->chunk_state(job.id, shard, last_seq_[index][shard] + 1 - back);
          seen[static_cast<std::size_t>(state)] = true;
        }
    }
  }
  for (std::size_t s = 0; s < seen.size(); ++s)
    if (seen[s]) run_.reach().fault(kind, static_cast<ChunkState>(s));
}

}  // namespace tributary::sim
