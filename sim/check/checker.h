// The oracle: watches switch, workers and wire, and says at once when something happened that the
// protocol rules out. It keeps its own account of who is a member, which ranks hold which result
// and what each sum must be; it never asks the system under test for an opinion.
//
// This class hands each event on to the checker that judges it:
//   OpChecker          an op ends: the sum is exactly that of the epoch's members, or of those
//                      counted; all ranks got the same bits and the same list
//   EpochChecker       a rank enters an epoch: no other incarnation of it does, and no rank is two
//                      epochs ahead
//   FailureChecker     an op or a session fails: the failure names job and cause, and no epoch
//                      fails that began when the network was perfect again
//   ResultChecker      a result is sent: it never changes (rule 5), and is verified where the job
//                      wants that
//   DegradedChecker    a result is sent that lacks ranks: the job allows it, after a wait, and all
//                      ranks get one list (rule 21)
//   CongestionChecker  a result is sent, or taken: it tells of congestion marks, and ranks that are
//                      equally far have the same window (rule 15)
//   HostChecker        a host is appointed, answers or refuses: terms hold (rule 5), and an intact
//                      packet is refused only for a reason that can be its own
//   RefusalChecker     a packet is judged, refused or heard: the same at switches, no result is
//                      given up that its rank still lacks (rule 4), no forged packet is taken
//   SlotChecker        a packet is judged: no chunk loses its slot to one that may not take it (O7)
//   ResourceChecker    a turn ends (at intervals where there are many ranks): slots, members and
//                      gauges; at intervals: no op, join or leave past its bound; at the end:
//                      nothing is left
//   NameChecker        a get or put of named data ends (C4)
//   FaultCounter       a fault strikes: counts it by the chunk's state
//   FaultyMembers      a rank sends: breaks a copy now and then
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/check/fault_counter.h"
#include "sim/check/faulty_members.h"
#include "sim/check/observer.h"
#include "sim/rules/checked_run.h"
#include "sim/rules/congestion_checker.h"
#include "sim/rules/degraded_checker.h"
#include "sim/rules/epoch_checker.h"
#include "sim/rules/failure_checker.h"
#include "sim/rules/host_checker.h"
#include "sim/rules/name_checker.h"
#include "sim/rules/op_checker.h"
#include "sim/rules/refusal_checker.h"
#include "sim/rules/resource_checker.h"
#include "sim/rules/result_checker.h"
#include "sim/rules/slot_checker.h"
#include "sim/scenario/network_plan.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

class Checker : public Observer {
 public:
  explicit Checker(const Scenario& scenario) : Checker(scenario, plan_network(scenario)) {}
  void watch(World& world, std::span<SwitchNode* const> aggregators,
             std::vector<std::vector<WorkerNode*>> ranks) {
    run_.watch(world, aggregators, std::move(ranks));
  }
  void watch_servers(const std::vector<ServerNode*>& servers) { run_.watch_servers(servers); }

  // SwitchObserver
  void before_packet(SwitchNode& node, const FrameRef&, const wire::Packet& packet) override {
    slots_.before_packet(node, packet);
  }
  void on_decision(SwitchNode& node, const FrameRef& frame, const wire::Packet& packet,
                   aggregator::Decision decision) override;
  void on_refused(SwitchNode& node, const FrameRef& frame, DropReason reason) override {
    refusals_.check_refused(node, frame, reason);
  }
  void on_message(SwitchNode& node, const aggregator::Outgoing& message) override;
  void on_hosted_drop(SwitchNode& node, const FrameRef& frame, DropReason reason) override {
    check_host_drop(node.name(), frame, reason);
  }
  void on_turn_end(SwitchNode& node, Instant now) override { resources_.turn_ended(node, now); }
  void on_switch_crash(SwitchNode& node) override;
  // WorkerObserver
  void on_epoch_entered(WorkerNode& node) override;
  void on_op_called(WorkerNode& node, std::uint32_t index, const OpPlan& plan) override {
    ops_.called(node, index, plan);
  }
  void on_op_done(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                  const OpResult& result) override;
  void on_op_failed(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                    const worker::Failure& failure) override;
  void on_session_failed(WorkerNode& node, const worker::Failure& failure) override;
  void on_worker_drop(DropReason reason, std::uint64_t count) override {
    reach().worker_drops[static_cast<std::size_t>(reason)] += count;
  }
  void on_floats_at_once(std::uint64_t count) override { reach().floats_at_once += count; }
  void on_window_decreases(std::uint64_t count) override { reach().window_decreases += count; }
  void on_result_taken(WorkerNode& node, std::uint8_t shard) override {
    congestion_.check_window(node, shard);
  }
  void on_heard(WorkerNode& node, const FrameRef& frame) override {
    refusals_.check_heard(node, frame);
  }
  void on_contribution(WorkerNode& node, const FrameRef& frame) override {
    degraded_.contribution_sent(node, frame);
    faulty_.contribution_sent(node, frame);
  }
  void on_named_call(WorkerNode& node, const NamedCall& named) override {
    names_.called(node, named);
  }
  void on_named_end(WorkerNode& node, const NamedCall& named) override {
    names_.ended(node, named);
  }
  // ServerObserver
  void on_server_crash(ServerNode& node) override;
  void on_server_message(ServerNode& node, const aggregator::Outgoing& message) override {
    check_result(node.name(), message);
  }
  void on_server_drop(ServerNode& node, const FrameRef& frame, DropReason reason) override {
    check_host_drop(node.name(), frame, reason);
  }
  // HostileObserver
  void on_hostile(FaultKind kind, const FrameRef& frame) override {
    faults_.count_hostile(kind, frame);
  }

  // A fault struck this frame, or a node.
  void count_frame_fault(FaultKind kind, const FrameRef& frame);
  void count_node_fault(FaultKind kind) { faults_.count_node_fault(kind); }
  void check_bounds() { resources_.check_bounds(); }
  // All nodes are gone: nothing may be left.
  void check_empty() { resources_.check_empty(); }

  [[nodiscard]] bool all_ended();
  [[nodiscard]] Reach& reach() { return run_.reach(); }
  [[nodiscard]] std::uint64_t ops_done() const { return ops_done_; }
  [[nodiscard]] std::uint64_t sessions_failed() const { return failures_.sessions_failed(); }
  [[nodiscard]] std::uint32_t ranks_done() const;

 private:
  Checker(const Scenario& scenario, const NetworkPlan& network);

  void check_result(const std::string& node, const aggregator::Outgoing& message);
  void check_host_drop(const std::string& node, const FrameRef& frame, DropReason reason);

  CheckedRun run_;
  EpochChecker epochs_;
  FailureChecker failures_;
  ResultChecker results_;
  DegradedChecker degraded_;
  CongestionChecker congestion_;
  HostChecker hosts_;
  RefusalChecker refusals_;
  SlotChecker slots_;
  ResourceChecker resources_;
  NameChecker names_;
  OpChecker ops_;
  FaultCounter faults_;
  FaultyMembers faulty_;
  std::uint64_t ops_done_ = 0;
  std::size_t first_not_ended_ = 0;  // among all ranks; none starts again after its end
};

}  // namespace tributary::sim
