// A small world for tests of the checkers: a switch, a job of two ranks, and the run that the
// checkers judge. Events happen only when a test asks for time to pass, and what the nodes do is
// told to no checker: a test reports what it likes.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/wire/extension.h"
#include "sim/check/observer.h"
#include "sim/network/draft.h"
#include "sim/rules/checked_run.h"
#include "sim/run/node_options.h"
#include "sim/scenario/network_plan.h"

namespace tributary::sim {

// Watches nodes, and does nothing.
class SilentObserver : public Observer {
 public:
  void before_packet(SwitchNode&, const FrameRef&, const wire::Packet&) override {}
  void on_decision(SwitchNode&, const FrameRef&, const wire::Packet&,
                   aggregator::Decision) override {}
  void on_refused(SwitchNode&, const FrameRef&, DropReason) override {}
  void on_message(SwitchNode&, const aggregator::Outgoing&) override {}
  void on_hosted_drop(SwitchNode&, const FrameRef&, DropReason) override {}
  void on_turn_end(SwitchNode&, Instant) override {}
  void on_switch_crash(SwitchNode&) override {}
  void on_epoch_entered(WorkerNode&) override {}
  void on_op_called(WorkerNode&, std::uint32_t, const OpPlan&) override {}
  void on_op_done(WorkerNode&, std::uint32_t, const OpPlan&, const OpResult&) override {}
  void on_op_failed(WorkerNode&, std::uint32_t, const OpPlan&, const worker::Failure&) override {}
  void on_session_failed(WorkerNode&, const worker::Failure&) override {}
  void on_worker_drop(DropReason, std::uint64_t) override {}
  void on_floats_at_once(std::uint64_t) override {}
  void on_window_decreases(std::uint64_t) override {}
  void on_result_taken(WorkerNode&, std::uint8_t) override {}
  void on_heard(WorkerNode&, const FrameRef&) override {}
  void on_contribution(WorkerNode&, const FrameRef&) override {}
  void on_named_call(WorkerNode&, const NamedCall&) override {}
  void on_named_end(WorkerNode&, const NamedCall&) override {}
  void on_server_crash(ServerNode&) override {}
  void on_server_message(ServerNode&, const aggregator::Outgoing&) override {}
  void on_server_drop(ServerNode&, const FrameRef&, DropReason) override {}
  void on_hostile(FaultKind, const FrameRef&) override {}
};

class SmallWorld : public ::testing::Test, private WorldObserver {
 protected:
  SmallWorld() { scenario_.jobs.resize(1); }

  // Makes the nodes, once the scenario is what the test wants. They are off.
  void build() {
    plan_ = plan_network(scenario_);
    auto node = std::make_unique<SwitchNode>(plan_.switches[0].name,
                                             switch_options(scenario_, plan_, 0), silent_);
    switch_ = node.get();
    world_.add(std::move(node), clock_of(scenario_, kSwitchClocks));
    std::vector<std::vector<WorkerNode*>> ranks(1);
    for (std::uint32_t rank = 0; rank < scenario_.jobs[0].workers; ++rank) {
      const WorkerOptions o = worker_options(scenario_, plan_, 0, rank, rank);
      auto worker = std::make_unique<WorkerNode>(name_of(o), o, silent_, batch_);
      ranks[0].push_back(worker.get());
      const NodeId id = world_.add(std::move(worker), clock_of(scenario_, rank));
      world_.connect(switch_->id(), id, scenario_.links, Instant(), rank);
    }
    ranks_ = ranks[0];
    run_.watch(world_, std::span(&switch_, 1), std::move(ranks));
  }
  void pass(Duration time) {
    const Instant until = world_.now() + time;
    world_.schedule(until, Event::Kind::check, 0);
    while (world_.now() < until && world_.step()) {
    }
  }
  // What the checkers have found; empty: nothing.
  [[nodiscard]] std::string violation() const { return world_.failure().value_or(""); }
  // A frame from the first rank's address to the switch.
  FrameRef frame_of(const wire::Header& header) {
    Draft draft;
    const WorkerOptions& o = ranks_[0]->options();
    draft.around.endpoints = {o.ipv4, o.switch_ipv4, 1000, o.udp_base_port};
    draft.header = header;
    return put_together(world_.frames(), draft);
  }

  Scenario scenario_;
  NetworkPlan plan_;
  SilentObserver silent_;
  worker::SendBatch batch_;
  World world_{*this, 64};
  CheckedRun run_{scenario_};
  SwitchNode* switch_ = nullptr;
  std::vector<WorkerNode*> ranks_;

 private:
  void on_frame_fault(FaultKind, const FrameRef&) override {}
  bool loses(NodeId, NodeId, const FrameRef&) override { return false; }
  void on_script(std::uint32_t) override {}
  void on_check() override {}
};

// A packet of the world's job.
inline wire::Header header_of(wire::PacketType type, std::uint32_t seq = 0) {
  wire::Header header;
  header.type = type;
  header.job = 1;
  header.epoch = 1;
  header.seq = header.chunk = seq;
  header.ttl = 1;
  return header;
}

// A result on its way to ranks.
inline aggregator::Outgoing result_of(std::uint32_t seq, std::span<const std::byte> payload = {}) {
  aggregator::Outgoing message;
  message.to = aggregator::Outgoing::To::job_group;
  message.header = header_of(wire::PacketType::result, seq);
  message.payload = payload;
  return message;
}

}  // namespace tributary::sim
