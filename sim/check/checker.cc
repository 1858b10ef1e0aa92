#include "sim/check/checker.h"

#include <algorithm>

namespace tributary::sim {

using aggregator::Verdict;
using wire::PacketType;

Checker::Checker(const Scenario& scenario, const NetworkPlan& network)
    : run_(scenario),
      epochs_(run_, network),
      failures_(run_, network),
      results_(run_),
      degraded_(run_),
      congestion_(run_),
      hosts_(run_),
      refusals_(run_),
      slots_(run_),
      resources_(run_),
      names_(run_, failures_),
      ops_(run_, epochs_, degraded_, slots_),
      faults_(run_),
      faulty_(run_, faults_) {}

void Checker::on_decision(SwitchNode& node, const FrameRef& frame, const wire::Packet& packet,
                          aggregator::Decision decision) {
  const wire::Header& h = packet.header;
  reach().verdict(decision.verdict);
  slots_.after_packet(node, packet, decision);
  const auto job = run_.index_of(h.job);
  if (!job) return;
  if (decision.verdict == Verdict::opened || decision.verdict == Verdict::completed ||
      decision.verdict == Verdict::sent_up)
    faults_.chunk_begun(*job, h.shard, h.seq);
  if (frame.truth().forged) return refusals_.check_forged(frame, h, decision.verdict);
  // Only the headers around a packet that a CRC32C covers may be broken without notice; those
  // decide who it comes from, never what it says.
  if (frame.truth().corrupted) return;
  congestion_.packet_judged(node, packet, decision);
  if (decision.verdict == Verdict::completed && (h.flags & wire::kFlagAtPs) != 0 &&
      h.type == PacketType::result)
    hosts_.check_result(node.name(), packet);
  refusals_.check_honest(node, packet, decision);
}

void Checker::on_message(SwitchNode& node, const aggregator::Outgoing& message) {
  const wire::Header& h = message.header;
  const auto job = run_.index_of(h.job);
  if (!job) return;
  const config::JobConfig* const config = node.job(h.job);
  const bool is_root = config == nullptr || !config->parent;
  if (h.type == PacketType::start && (h.flags & wire::kFlagAtPs) != 0)
    return hosts_.check_appointment(node.name(), message);
  if (h.type == PacketType::start && is_root && epochs_.started(*job, h.epoch, node.version())) {
    faults_.epoch_started(*job);
    results_.epoch_started();
    congestion_.epoch_started(h.job);
  }
  check_result(node.name(), message);
}

void Checker::check_result(const std::string& node, const aggregator::Outgoing& message) {
  if (message.header.type != PacketType::result) return;
  degraded_.check_result(node, message);
  congestion_.check_result(node, message.header);
  results_.check_result(node, message);
}

void Checker::check_host_drop(const std::string& node, const FrameRef& frame, DropReason reason) {
  if (reason == DropReason::no_slot) failures_.overfull();
  hosts_.check_drop(node, frame, reason);
}

void Checker::on_switch_crash(SwitchNode& node) {
  reach().counters(*node.engine());
  reach().counters(*node.completion());
  if (node.remote_hosts() != nullptr) reach().counters(*node.remote_hosts(), run_.in_tree());
  if (const auto* const hosted = node.hosted())
    for (std::size_t job = 0; job < hosted->job_count(); ++job)
      reach().counters(hosted->server(job));
}

void Checker::on_server_crash(ServerNode& node) {
  reach().counters(*node.server());
  ops_.server_crashed();
}

void Checker::on_epoch_entered(WorkerNode& node) {
  World& world = run_.world();
  world.trace().add(world.now(), node.id(), TraceKind::session);
  world.trace().say(world.now(),
                    node.name() + " enters epoch " + std::to_string(node.session()->epoch()));
  epochs_.entered(node);
}

void Checker::on_op_done(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                         const OpResult& result) {
  World& world = run_.world();
  world.trace().add(world.now(), node.id(), TraceKind::op_done, result.data);
  world.trace().add(world.now(), node.id(), TraceKind::op_done, result.output);
  world.trace().say(world.now(), node.name() + " has op " + std::to_string(index));
  ++ops_done_;
  ops_.done(node, index, plan, result);
}

void Checker::on_op_failed(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                           const worker::Failure& failure) {
  World& world = run_.world();
  world.trace().add(world.now(), node.id(), TraceKind::op_failed);
  world.trace().say(world.now(),
                    node.name() + " op " + std::to_string(index) + " failed: " + failure.text);
  failures_.op_failed(node, index, plan, failure);
}

void Checker::on_session_failed(WorkerNode& node, const worker::Failure& failure) {
  World& world = run_.world();
  world.trace().say(world.now(), node.name() + " failed: " + failure.text);
  failures_.session_failed(node, failure);
}

void Checker::count_frame_fault(FaultKind kind, const FrameRef& frame) {
  if (kind == FaultKind::queue_full || kind == FaultKind::backlog_full) failures_.overfull();
  faults_.count_frame_fault(kind, frame);
}

bool Checker::all_ended() {
  const auto ranks = run_.all_ranks();
  while (first_not_ended_ < ranks.size() && ranks[first_not_ended_]->end() != WorkerEnd::not_yet)
    ++first_not_ended_;
  return first_not_ended_ == ranks.size();
}

std::uint32_t Checker::ranks_done() const {
  const auto ranks = run_.all_ranks();
  return static_cast<std::uint32_t>(
      std::count_if(ranks.begin(), ranks.end(),
                    [](const WorkerNode* node) { return node->end() == WorkerEnd::done; }));
}

}  // namespace tributary::sim
