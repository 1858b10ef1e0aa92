#include "sim/check/recorder.h"

#include <algorithm>

namespace tributary::sim {

Recorder::Recorder(const Scenario& scenario, const World& world, Observer& next)
    : world_(world), next_(next), opened_(scenario.jobs.size()) {
  measured_.switch_modelled = !scenario.cost.free();
  for (const JobScenario& job : scenario.jobs) {
    job_index_.emplace(job.id, static_cast<std::uint32_t>(measured_.jobs.size()));
    JobMeasurements& m = measured_.jobs.emplace_back();
    m.id = job.id;
    m.workers = job.workers;
    m.chunk_bytes = job.chunk_bytes;
    m.modelled = job.payload == Payload::modelled;
    m.first_call = Instant::max();
  }
}

void Recorder::on_decision(SwitchNode& node, const FrameRef& frame, const wire::Packet& packet,
                           aggregator::Decision decision) {
  using aggregator::Verdict;
  next_.on_decision(node, frame, packet, decision);
  if (&node != aggregator_) return;
  if (decision.verdict != Verdict::opened && decision.verdict != Verdict::completed) return;
  const wire::Header& h = packet.header;
  const std::uint32_t job = job_index_.at(h.job);
  const std::uint64_t chunk = std::uint64_t{h.shard} << 32 | h.seq;
  const Instant now = world_.now() + node.turns().into_turn();
  if (decision.verdict == Verdict::opened) {
    opened_[job][chunk] = now;
    return;
  }
  const auto opened = opened_[job].find(chunk);
  if (opened == opened_[job].end()) {  // alone in its job
    measured_.jobs[job].slot_holds.emplace_back();
    return;
  }
  measured_.jobs[job].slot_holds.push_back(now - opened->second);
  opened_[job].erase(opened);
}

void Recorder::on_epoch_entered(WorkerNode& node) {
  calls_[node.id()].clear();
  next_.on_epoch_entered(node);
}

void Recorder::on_op_called(WorkerNode& node, std::uint32_t index, const OpPlan& plan) {
  next_.on_op_called(node, index, plan);
  const Instant now = world_.now();
  calls_[node.id()].push_back({index, now});
  const std::uint32_t job = node.options().job_index;
  if (!busy_before_) busy_before_ = aggregator_->turns().busy();
  measured_.jobs[job].first_call = std::min(measured_.jobs[job].first_call, now);
  ops_.try_emplace({job, node.session()->epoch(), index}, OpenOp{now, 0});
}

Instant Recorder::end_call(NodeId node, std::uint32_t index) {
  auto& calls = calls_[node];
  const auto call =
      std::find_if(calls.begin(), calls.end(), [index](const Call& c) { return c.index == index; });
  const Instant at = call->at;
  calls.erase(call);
  return at;
}

void Recorder::on_op_failed(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                            const worker::Failure& f) {
  next_.on_op_failed(node, index, plan, f);
  end_call(node.id(), index);
}

void Recorder::on_op_done(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                          const OpResult& result) {
  next_.on_op_done(node, index, plan, result);
  const Instant now = world_.now();
  const std::uint32_t job = node.options().job_index;
  JobMeasurements& m = measured_.jobs[job];
  m.rank_times.push_back(now - end_call(node.id(), index));
  m.last_return = std::max(m.last_return, now);
  busy_at_return_ = aggregator_->turns().busy();
  const std::uint64_t bytes =
      std::max(result.data.size(), result.output.size()) * node.options().job->payload_scale();
  bytes_returned_ += bytes;
  const auto op = ops_.find({job, node.session()->epoch(), index});
  if (++op->second.returned < m.workers) return;
  m.op_times.push_back(now - op->second.first_call);
  m.bytes_per_rank += bytes;
  ++m.ops;
  ops_.erase(op);
}

Measurements Recorder::finish(std::span<WorkerNode* const> workers) {
  Instant first = Instant::max();
  Instant last;
  for (std::size_t i = 0; i < measured_.jobs.size(); ++i) {
    JobMeasurements& m = measured_.jobs[i];
    m.first_call = std::min(m.first_call, m.last_return);
    if (m.ops > 0) first = std::min(first, m.first_call);
    last = std::max(last, m.last_return);
    const auto place = aggregator_->place_of(measured_.jobs[i].id);
    if (aggregator_->engine() == nullptr || !place) continue;
    const auto& c = aggregator_->engine()->counters(*place);
    m.contributions = c.contributions.get();
    m.contribution_bytes = c.contribution_bytes.get();
    m.completions = c.completions.get();
    m.result_bytes = c.result_bytes.get();
    m.probes = c.probes.get();
    m.resends = c.resends.get();
    m.results_resent = c.results_resent.get();
    m.epochs = c.epochs.get();
  }
  for (const WorkerNode* worker : workers) {
    JobMeasurements& m = measured_.jobs[worker->options().job_index];
    m.up.add(world_.sent(worker->id(), 0));
    m.down.add(world_.received(worker->id(), 0));
  }
  if (first < last) measured_.active = last - first;
  measured_.switch_busy = busy_at_return_ - busy_before_.value_or(busy_at_return_);
  measured_.most_waiting = aggregator_->turns().most_waiting();
  measured_.most_frames = world_.frames_peak();
  measured_.events = world_.events_done();
  return std::move(measured_);
}

}  // namespace tributary::sim
