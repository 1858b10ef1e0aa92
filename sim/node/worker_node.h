// A rank: the real Session on a simulated network card, under an application that calls one op
// after the other, checks nothing itself, and joins anew when its epoch failed.
//
//   start ─▶ joining ─▶ running ops ─▶ leaving ─▶ done
//               ▲            │ failed
//               └─ back-off ─┘            (a join that times out: gave up)
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "core/prng.h"
#include "sim/node/held_results.h"
#include "sim/node/node.h"
#include "sim/node/rank_card.h"
#include "sim/node/rank_names.h"
#include "sim/node/worker_options.h"
#include "sim/scenario/workload.h"
#include "worker/session/block_scaled.h"
#include "worker/session/session.h"

namespace tributary::sim {

class WorkerNode;

// Observes a rank.
class WorkerObserver {
 public:
  virtual ~WorkerObserver() = default;
  virtual void on_epoch_entered(WorkerNode& node) = 0;
  virtual void on_op_called(WorkerNode& node, std::uint32_t index, const OpPlan& plan) = 0;
  virtual void on_op_done(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                          const OpResult& result) = 0;
  virtual void on_op_failed(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                            const worker::Failure& failure) = 0;
  virtual void on_session_failed(WorkerNode& node, const worker::Failure& failure) = 0;
  virtual void on_worker_drop(DropReason reason, std::uint64_t count) = 0;
  // Chunks that a session has sent as floats at once (rule 12).
  virtual void on_floats_at_once(std::uint64_t count) = 0;
  // Times that a session has made a window smaller (rule 15).
  virtual void on_window_decreases(std::uint64_t count) = 0;
  // A result of this shard was delivered.
  virtual void on_result_taken(WorkerNode& node, std::uint8_t shard) = 0;
  // A frame has come to its network card.
  virtual void on_heard(WorkerNode& node, const FrameRef& frame) = 0;
  // A contribution leaves; the observer may send a broken copy behind it.
  virtual void on_contribution(WorkerNode& node, const FrameRef& frame) = 0;
  // A put or a get of named data begins, and ends; neither ends if the rank begins anew.
  virtual void on_named_call(WorkerNode& node, const NamedCall& named) = 0;
  virtual void on_named_end(WorkerNode& node, const NamedCall& named) = 0;
};

enum class WorkerEnd : std::uint8_t { not_yet, done, gave_up, dead };

class WorkerNode : public Node {
 public:
  // `batch` is shared by all ranks of a world: its contents live for one call.
  WorkerNode(std::string name, const WorkerOptions& options, WorkerObserver& observer,
             worker::SendBatch& batch);

  void start(Instant now) override;
  void crash() override;
  void on_frame(std::uint16_t port, const FrameRef& frame, Instant now) override;
  void on_wake(Instant now) override;
  [[nodiscard]] Instant next_wakeup() const override;
  [[nodiscard]] std::string waiting_for(Instant now) const override;

  [[nodiscard]] WorkerEnd end() const { return end_; }
  // The script will not start it again.
  void declare_dead() {
    if (end_ == WorkerEnd::not_yet) end_ = WorkerEnd::dead;
  }
  // To another switch, while it is down.
  void move(std::uint32_t switch_ipv4, std::uint16_t port);
  [[nodiscard]] const WorkerOptions& options() const { return options_; }
  [[nodiscard]] const worker::Session* session() const { return session_.get(); }
  // The job with the ranks that it has now, as far as this rank knows.
  [[nodiscard]] const JobScenario& job() const { return job_; }
  // True while it answers for the values that it has put.
  [[nodiscard]] bool serves_names() const {
    return names_ && session_ != nullptr && !completed_ && !failure_seen_;
  }
  // True once the job goes on without it.
  [[nodiscard]] bool has_left() const { return has_left_; }
  // Tells this incarnation's data from those before.
  [[nodiscard]] std::uint64_t salt() const { return salt_; }
  [[nodiscard]] bool holds(std::uint8_t shard, std::uint32_t seq) const {
    return held_.contains(shard, seq);
  }
  // The epoch that the session's follows after a drain, and the first op of it; none, 0: it follows
  // none.
  [[nodiscard]] std::optional<std::uint16_t> resumed_from() const { return resumed_from_; }
  [[nodiscard]] std::uint32_t first_op() const { return first_op_; }
  [[nodiscard]] std::uint32_t ops_done() const {
    return next_op_ - static_cast<std::uint32_t>(open_.size());
  }
  // When the session was made: by the own clock, and by the world's.
  [[nodiscard]] Instant session_began() const { return session_began_; }
  [[nodiscard]] Instant session_began_world() const { return session_began_world_; }
  // When the oldest open op got its turn.
  [[nodiscard]] Instant turn_began() const { return turn_began_; }
  [[nodiscard]] Instant leave_began() const { return leave_began_; }
  void send_extra(const FrameRef& frame);

 private:
  struct OpenOp {
    worker::Op op;
    OpPlan plan;
    std::uint32_t index = 0;
    std::vector<std::byte> data;
    std::vector<std::byte> output;
    std::unique_ptr<worker::BlockScaled> scaled;
  };

  [[nodiscard]] std::optional<std::size_t> first_phase() const;
  void enter_phase(std::size_t resize);
  void go_on(const wire::Resumption& from, Instant now);
  void begin_session(Instant now);
  [[nodiscard]] worker::SessionOptions session_options() const;
  void open_session(const worker::SessionOptions& options, Instant now);
  void resume(const wire::Resumption& from, Instant now);
  [[nodiscard]] bool may_call() const;
  void advance(Instant now);
  void collect(Instant now);
  void submit(Instant now);
  static OpPlan another_op(const OpPlan& plan);
  void fill_op(OpenOp& open) const;
  void close_failed(Instant now);
  void count_events();
  bool pump(Instant now);
  void pump_names(Instant now);
  void start_named(std::uint32_t index, Instant now);
  void receive(const FrameRef& frame, Instant now);
  FrameRef frame_with(const worker::Datagram& datagram);
  [[nodiscard]] RankCard card() const;
  void drop(DropReason reason) { observer_.on_worker_drop(reason, 1); }

  WorkerOptions options_;
  JobScenario job_;              // of the phase that this rank is in
  std::size_t phase_ = 0;        // index of its first resize
  std::uint32_t phase_end_ = 0;  // its first op that is not in the phase
  std::size_t phases_done_ = 0;  // before it left: it comes again in a later one
  bool has_left_ = false;
  WorkerObserver& observer_;
  Prng random_;
  std::uint32_t incarnation_ = 0;
  std::unique_ptr<worker::Session> session_;
  std::uint64_t salt_ = 0;
  std::uint16_t udp_port_ = 0;
  bool entered_ = false;
  bool failure_seen_ = false;
  bool completed_ = false;
  bool was_joining_ = false;
  std::uint32_t next_op_ = 0;
  std::uint32_t first_op_ = 0;
  std::optional<std::uint16_t> resumed_from_;
  std::vector<std::unique_ptr<OpenOp>> open_;
  HeldResults held_;
  std::optional<RankNames> names_;
  std::unique_ptr<worker::NameBatch> names_batch_;
  WorkerEnd end_ = WorkerEnd::not_yet;
  Instant session_began_;
  Instant session_began_world_;
  Instant turn_began_;
  Instant leave_began_;
  Instant think_until_;
  Instant retry_send_at_ = Instant::max();
  Instant next_session_at_ = Instant::max();
  worker::SendBatch& batch_;
};

}  // namespace tributary::sim
