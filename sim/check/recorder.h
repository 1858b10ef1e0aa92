// Measures a run: stands between the nodes and the checker, notes when things happened, and passes
// everything on. It changes nothing.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/check/measurements.h"
#include "sim/check/observer.h"

namespace tributary::sim {

class Recorder : public Observer {
 public:
  Recorder(const Scenario& scenario, const World& world, Observer& next);

  // The root, before the run; and after it.
  void watch(const SwitchNode& aggregator) { aggregator_ = &aggregator; }
  Measurements finish(std::span<WorkerNode* const> workers);
  // Sums over all jobs and ranks.
  [[nodiscard]] std::uint64_t bytes_returned() const { return bytes_returned_; }

  void before_packet(SwitchNode& node, const FrameRef& frame, const wire::Packet& packet) override {
    next_.before_packet(node, frame, packet);
  }
  void on_decision(SwitchNode& node, const FrameRef& frame, const wire::Packet& packet,
                   aggregator::Decision decision) override;
  void on_refused(SwitchNode& node, const FrameRef& frame, DropReason reason) override {
    next_.on_refused(node, frame, reason);
  }
  void on_message(SwitchNode& node, const aggregator::Outgoing& message) override {
    next_.on_message(node, message);
  }
  void on_hosted_drop(SwitchNode& node, const FrameRef& frame, DropReason reason) override {
    next_.on_hosted_drop(node, frame, reason);
  }
  void on_turn_end(SwitchNode& node, Instant now) override { next_.on_turn_end(node, now); }
  void on_switch_crash(SwitchNode& node) override { next_.on_switch_crash(node); }
  void on_epoch_entered(WorkerNode& node) override;
  void on_op_called(WorkerNode& node, std::uint32_t index, const OpPlan& plan) override;
  void on_op_done(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                  const OpResult& result) override;
  void on_op_failed(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                    const worker::Failure& f) override;
  void on_session_failed(WorkerNode& node, const worker::Failure& f) override {
    next_.on_session_failed(node, f);
  }
  void on_worker_drop(DropReason reason, std::uint64_t count) override {
    next_.on_worker_drop(reason, count);
  }
  void on_floats_at_once(std::uint64_t count) override { next_.on_floats_at_once(count); }
  void on_window_decreases(std::uint64_t count) override { next_.on_window_decreases(count); }
  void on_named_call(WorkerNode& node, const NamedCall& named) override {
    next_.on_named_call(node, named);
  }
  void on_named_end(WorkerNode& node, const NamedCall& named) override {
    next_.on_named_end(node, named);
  }
  void on_result_taken(WorkerNode& node, std::uint8_t shard) override {
    next_.on_result_taken(node, shard);
  }
  void on_heard(WorkerNode& node, const FrameRef& frame) override { next_.on_heard(node, frame); }
  void on_contribution(WorkerNode& node, const FrameRef& frame) override {
    next_.on_contribution(node, frame);
  }
  void on_hostile(FaultKind kind, const FrameRef& frame) override { next_.on_hostile(kind, frame); }
  void on_server_crash(ServerNode& node) override { next_.on_server_crash(node); }
  void on_server_message(ServerNode& node, const aggregator::Outgoing& message) override {
    next_.on_server_message(node, message);
  }
  void on_server_drop(ServerNode& node, const FrameRef& frame, DropReason reason) override {
    next_.on_server_drop(node, frame, reason);
  }

 private:
  struct OpKey {
    std::uint32_t job_index, epoch, index;
    auto operator<=>(const OpKey&) const = default;
  };
  struct OpenOp {
    Instant first_call;
    std::uint32_t returned = 0;
  };
  struct Call {
    std::uint32_t index;
    Instant at;
  };

  // Forgets the call; returns when it was made.
  Instant end_call(NodeId node, std::uint32_t index);

  const World& world_;
  Observer& next_;
  const SwitchNode* aggregator_ = nullptr;
  std::optional<Duration> busy_before_;  // the first call
  Duration busy_at_return_;              // of the latest op
  Measurements measured_;
  std::unordered_map<std::uint32_t, std::uint32_t> job_index_;  // by id
  std::map<OpKey, OpenOp> ops_;
  std::unordered_map<NodeId, std::vector<Call>> calls_;
  std::vector<std::unordered_map<std::uint64_t, Instant>> opened_;  // by job; shard and seq
  std::uint64_t bytes_returned_ = 0;
};

}  // namespace tributary::sim
