// The oracle: watches switch, workers and wire, and says at once when something happened that the
// protocol rules out. It keeps its own account of who is a member, which ranks hold which result
// and what each sum must be; it never asks the system under test for an opinion.
//
// What it checks, and when:
//   op ends          the sum is exactly that of the epoch's members, or of those counted; all
//                    ranks got the same bits and the same list; a failure names job and cause
//   result is sent   a chunk's result never changes (rule 5), nor its list of missing ranks, which
//                    is empty unless the job allows it, and after the wait that it allows (rule
//                    21); unless data was sent again, it tells of every mark that all copies of
//                    some data had at a switch (rule 15)
//   result is taken  ranks that are equally far have the same window (rule 15)
//   frame is heard   no forged one comes to a rank's group, or under its switch's address
//   packet refused   an honest, intact packet is refused only for a reason that can be its own; no
//                    result is given up that its rank still lacks (rule 4)
//   slot changes     no chunk loses one to a lower priority, nor one that is not idle, except to a
//                    higher priority that may take such (O7), and gets none again after a loss
//   turn ends        (at intervals where there are many ranks) no slot past its deadline, no
//                    silent member past its lease, gauges within limits and true
//   at intervals     no op, join or leave past its bound
//   get ends         it has the value that was put; calls fail only for a cause (C4)
//   after healing    no epoch fails that began when the network was perfect
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "sim/check/model_checker.h"
#include "sim/check/observer.h"
#include "sim/check/reach.h"
#include "sim/node/world.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

class Checker : public Observer {
 public:
  explicit Checker(const Scenario& scenario);
  void watch(World& world, std::span<SwitchNode* const> aggregators,
             std::vector<std::vector<WorkerNode*>> ranks);

  void watch_servers(const std::vector<ServerNode*>& servers) { servers_ = servers; }

  // SwitchObserver
  void before_packet(SwitchNode& node, const FrameRef& frame, const wire::Packet& packet) override;
  void on_decision(SwitchNode& node, const FrameRef& frame, const wire::Packet& packet,
                   aggregator::Decision decision) override;
  void on_refused(SwitchNode& node, const FrameRef& frame, DropReason reason) override;
  void on_message(SwitchNode& node, const aggregator::Outgoing& message) override;
  void on_hosted_drop(SwitchNode& node, const FrameRef& frame, DropReason reason) override {
    check_host_drop(node.name(), frame, reason);
  }
  void on_turn_end(SwitchNode& node, Instant now) override;
  void on_switch_crash(SwitchNode& node) override {
    reach_.counters(*node.engine());
    reach_.counters(*node.completion());
    if (node.remote_hosts() != nullptr)
      reach_.counters(*node.remote_hosts(), aggregators_.size() > 1);
    if (const auto* const hosted = node.hosted())
      for (std::size_t job = 0; job < hosted->job_count(); ++job)
        count_engines(hosted->server(job));
  }
  // WorkerObserver
  void on_epoch_entered(WorkerNode& node) override;
  void on_op_called(WorkerNode& node, std::uint32_t index, const OpPlan& plan) override;
  void on_op_done(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                  const OpResult& result) override;
  void on_op_failed(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                    const worker::Failure& f) override;
  void on_session_failed(WorkerNode& node, const worker::Failure& f) override;
  void on_worker_drop(DropReason reason, std::uint64_t count) override;
  void on_floats_at_once(std::uint64_t count) override { reach_.floats_at_once += count; }
  void on_window_decreases(std::uint64_t count) override { reach_.window_decreases += count; }
  void on_result_taken(WorkerNode& node, std::uint8_t shard) override;
  void on_heard(WorkerNode& node, const FrameRef& frame) override;
  void on_contribution(WorkerNode& node, const FrameRef& frame) override;
  void on_named_call(WorkerNode& node, const NamedCall& named) override;
  void on_named_end(WorkerNode& node, const NamedCall& named) override;
  // ServerObserver
  void on_server_crash(ServerNode& node) override;
  void on_server_message(ServerNode& node, const aggregator::Outgoing& message) override {
    check_result(node.name(), message);
  }
  void on_server_drop(ServerNode& node, const FrameRef& frame, DropReason reason) override;
  // HostileObserver
  void on_hostile(FaultKind kind, const FrameRef& frame) override;

  // A fault struck the chunk that this frame is about.
  void count_frame_fault(FaultKind kind, const FrameRef& frame);
  // A fault struck a node: counts once per state that any chunk is in.
  void count_node_fault(FaultKind kind);
  void check_bounds();
  // All nodes are gone: nothing may be left.
  void check_empty();

  [[nodiscard]] bool all_ended();
  [[nodiscard]] Reach& reach() { return reach_; }
  [[nodiscard]] std::uint64_t ops_done() const { return ops_done_; }
  [[nodiscard]] std::uint64_t sessions_failed() const { return sessions_failed_; }
  [[nodiscard]] std::uint32_t ranks_done() const;

 private:
  struct ChunkKey {
    std::uint32_t job, epoch, shard, seq;
    auto operator<=>(const ChunkKey&) const = default;
  };
  struct OpKey {
    std::uint32_t job, epoch, index;
    auto operator<=>(const OpKey&) const = default;
  };
  // Counters of the shard that a packet is for, before the engine sees it.
  struct Slots {
    std::uint64_t open = 0;
    std::uint64_t refused = 0;
  };
  // Chunks that met another in its slot, and how often that one lost it.
  struct Met {
    std::uint64_t preempted = 0;
    std::uint64_t collided = 0;
  };
  // One of the slots of a shard that dynamic jobs share, and the chunk that holds it.
  struct HeldSlot {
    std::uint32_t job, seq, slot, op;
    bool sent;  // its sum; it waits for the result
  };
  // A chunk as a switch has it.
  struct ChunkAt {
    NodeId node;
    ChunkKey chunk;
    auto operator<=>(const ChunkAt&) const = default;
  };
  struct Members {
    std::vector<std::optional<std::uint64_t>> salts;  // by rank
    std::uint32_t entered = 0;
    std::size_t version = 0;  // of the tree, as the job's root had read it
  };
  // The host that was last told to finish the chunks of a shard.
  struct Appointment {
    std::uint32_t host = 0;
    std::uint32_t term = 0;
    std::uint64_t nonce = 0;  // of the root's incarnation
  };
  // Data that a switch took: whose.
  struct Piece {
    std::uint32_t node = 0;
    std::vector<std::uint64_t> ranks;
    auto operator<=>(const Piece&) const = default;
  };
  // The op that data asks for, as far as ranks that agree ask for the same.
  struct Asked {
    wire::Collective collective{};
    wire::DType dtype{};
    wire::ReduceOp reduce_op{};
    bool operator==(const Asked&) const = default;
  };
  // Congestion marks on a chunk's data, until its result is made.
  struct Marks {
    std::optional<Asked> asked;    // by the first of it
    bool unclear = false;          // some was sent again: marks may be lost; or asks for another op
    bool decided = false;          // its result is made,
    bool due = false;              // and has to tell of a mark
    std::map<Piece, bool> pieces;  // was each copy marked?
  };
  // Identifies a chunk also for ranks that disagree, which may have it in another place than the
  // rest.
  struct OpChunk {
    std::uint32_t epoch, op, chunk, seq;
    auto operator<=>(const OpChunk&) const = default;
  };
  // When ranks first sent a chunk, and who its result was said to lack.
  struct Waited {
    std::vector<std::optional<Instant>> sent;  // by rank
    std::optional<std::vector<std::uint64_t>> missing;
  };
  struct JobView {
    const JobScenario* scenario = nullptr;
    std::vector<config::Bracket> expressions;  // how each version's tree combines ranks' data
    bool tree_changes = false;                 // some version has another tree of this job
    std::uint16_t epoch = 0;                   // of the last START
    std::vector<std::uint32_t> last_seq;       // highest opened, per shard
    std::vector<Appointment> hosts;            // per shard
    std::map<std::uint32_t, Members> members;  // by epoch
    ModelChecker model;
    std::map<OpChunk, Waited> waited;  // of a job whose results may lack ranks
    std::vector<bool> cut_off;         // by rank: a switch above it loses power
  };

  void violation(const std::string& what);
  void check_empty(const SwitchNode& node);
  void check_empty(const std::string& name, const completion::Server& server);
  void check_host_drop(const std::string& name, const FrameRef& frame, DropReason reason);
  void count_engines(const completion::Server& server);
  [[nodiscard]] std::string name(const WorkerNode& node) const;
  [[nodiscard]] std::optional<std::uint32_t> index_of(std::uint32_t job) const;
  void check_honest(const SwitchNode& node, const wire::Packet& packet,
                    aggregator::Decision decision);
  void check_slots(SwitchNode& node, Instant now);
  void check_appointment(const SwitchNode& node, const aggregator::Outgoing& start);
  void check_result(const std::string& node, const aggregator::Outgoing& message);
  void check_host_result(const SwitchNode& node, const wire::Packet& packet);
  void check_members(SwitchNode& node, Instant now);
  void check_not_given_up(const SwitchNode& at, const wire::Packet& packet);
  // The switch whose packet this is; nullptr: it is a rank's.
  [[nodiscard]] const SwitchNode* switch_below(const SwitchNode& node,
                                               const wire::Packet& packet) const;
  // The rank whose packet this is; nullptr: it is a switch's.
  [[nodiscard]] const WorkerNode* sender_of(const SwitchNode& node,
                                            const wire::Packet& packet) const;
  // From a switch or a server.
  [[nodiscard]] bool is_answer(const FrameRef& frame) const;
  // The switch that a frame is for, or from.
  [[nodiscard]] const SwitchNode& concerned(const FrameRef& frame) const;
  [[nodiscard]] std::vector<std::uint64_t> salts_of(std::uint32_t job, std::uint32_t epoch);
  void check_cause(const WorkerNode& node, const worker::Failure& f);
  // checker_drains.cc
  void check_resumption(const WorkerNode& node);
  const config::Bracket& expression_for(const WorkerNode& node, const Members& members);
  void check_epoch_of(const WorkerNode& node, std::uint32_t index);
  // checker_slots.cc
  [[nodiscard]] std::optional<Slots> slots_of(const SwitchNode& node,
                                              const wire::Packet& packet) const;
  void check_slot_refusal(const SwitchNode& node, const wire::Packet& packet);
  [[nodiscard]] static ChunkAt chunk_at(const SwitchNode& node, std::uint32_t job,
                                        std::uint8_t shard, std::uint32_t seq);
  [[nodiscard]] std::vector<HeldSlot> held_in(const SwitchNode& node, std::uint8_t shard);
  [[nodiscard]] Met met_at(const SwitchNode& node, std::uint8_t shard) const;
  void check_taken_slots(const SwitchNode& node, const wire::Packet& packet,
                         aggregator::Decision decision);
  void check_taking(const SwitchNode& node, const wire::Packet& packet, const HeldSlot& lost);
  [[nodiscard]] std::optional<TakenSlot> may_take(const JobScenario& taker,
                                                  const JobScenario& owner, Duration silent_for,
                                                  bool borrowed) const;
  [[nodiscard]] std::uint32_t guaranteed_slots(const JobScenario& job, std::uint32_t running) const;
  [[nodiscard]] bool is_borrowed(const SwitchNode& node, std::uint8_t shard,
                                 const JobScenario& taker, const JobScenario& owner) const;
  // checker_names.cc
  [[nodiscard]] bool must_succeed(const WorkerNode& node, const NamedCall& named) const;
  void check_no_request_waits(const SwitchNode& node);
  // checker_congestion.cc
  [[nodiscard]] Piece piece_of(const SwitchNode& node, const wire::Packet& packet) const;
  void note_marks(const SwitchNode& node, const wire::Packet& packet,
                  aggregator::Decision decision);
  void check_mark(const std::string& node, const wire::Header& result);
  // checker_degraded.cc
  [[nodiscard]] static std::vector<bool> workers_below_crashes(const Scenario& scenario);
  void note_sent(const WorkerNode& node, const FrameRef& frame);
  void check_list(const std::string& node, const aggregator::Outgoing& result);
  [[nodiscard]] static bool all_inside_entered(const Members& members, const OpResult& result);
  void check_wait(const JobView& view, const wire::Header& result, const Waited& chunk);
  using MissingByChunk = std::map<std::uint32_t, std::span<const std::uint64_t>>;
  [[nodiscard]] static MissingByChunk missing_of(const JobView& view, std::uint32_t epoch,
                                                 std::uint32_t op, std::uint32_t rank);
  [[nodiscard]] static std::optional<std::string> wrong_list(const JobView& view,
                                                             const MissingByChunk& missing,
                                                             const OpResult& result);

  const Scenario& scenario_;
  World* world_ = nullptr;
  std::vector<SwitchNode*> aggregators_;         // the root first
  std::vector<std::vector<WorkerNode*>> ranks_;  // by job index and rank
  std::vector<ServerNode*> servers_;
  std::vector<const WorkerNode*> all_ranks_;
  Instant settled_at_;
  std::optional<Instant> last_overfull_;  // a queue had no room for a frame, or a host for a chunk
  std::optional<Slots> slots_before_;
  std::vector<HeldSlot> held_before_;
  Met met_before_;
  std::map<ChunkAt, Instant> heard_;  // when data of a chunk was last taken in, by the node's clock
  std::set<ChunkAt> lost_slot_;       // to another job's chunk
  std::set<OpKey> robbed_ops_;        // with such a chunk
  std::uint32_t dynamic_jobs_ = 0;
  bool punctual_ = false;  // packets arrive, and soon
  bool moves_switches_ = false;
  bool marks_happen_ = false;
  bool every_turn_ = true;
  Instant next_full_check_;
  std::size_t first_not_ended_ = 0;  // among all ranks; none starts again after its end
  std::vector<JobView> jobs_;
  // With those that the op lacks: ranks that disagree may not lack the same.
  std::map<std::pair<OpKey, std::vector<std::uint64_t>>, std::uint64_t> op_bits_;
  std::map<std::uint32_t, config::Bracket> by_rank_;  // by the number of ranks
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::vector<std::uint64_t>>, std::uint16_t>
      op_epochs_;  // by job, index and the members' salts
  std::map<ChunkKey, std::uint64_t> result_bits_;
  std::map<ChunkKey, std::uint32_t> bounds_;  // chunks under way at most, by the lowest seq of them
  std::map<ChunkKey, Marks> marks_;
  std::map<NodeId, std::deque<FrameRef>> contributions_;          // the latest of each worker
  std::set<std::pair<std::uint32_t, std::uint32_t>> values_put_;  // by job index and op
  std::set<const worker::NameCall*> asked_known_;  // gets of values that had been put
  Prng random_;
  Reach reach_;
  std::uint64_t ops_done_ = 0;
  std::uint64_t sessions_failed_ = 0;
};

}  // namespace tributary::sim
