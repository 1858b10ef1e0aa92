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
#include "core/time.h"
#include "sim/node/held_results.h"
#include "sim/node/node.h"
#include "sim/node/open_op.h"
#include "sim/node/rank_card.h"
#include "sim/node/rank_names.h"
#include "sim/node/rank_phases.h"
#include "sim/node/worker_options.h"
#include "sim/scenario/workload.h"
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

// Moments in the life of a rank, by its own clock.
struct RankTimes {
  Instant session_began;
  Instant session_began_world;  // the same, by the world's clock
  Instant turn_began;           // the oldest open op got its turn
  Instant leave_began;
  Instant think_until;                       // before the next op
  Instant retry_send_at = Instant::max();    // of a transport that had no room
  Instant next_session_at = Instant::max();  // after a failure
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
  [[nodiscard]] const JobScenario& job() const { return phases_.job(); }
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
  [[nodiscard]] const RankTimes& times() const { return times_; }
  void send_extra(const FrameRef& frame);

 private:
  void go_on(const wire::Resumption& from, Instant now);
  void begin_session(Instant now);
  void open_session(std::uint64_t nonce, const wire::Resumption& from, Instant now);
  void resume(const wire::Resumption& from, Instant now);
  [[nodiscard]] bool may_call() const;
  void advance(Instant now);
  void collect(Instant now);
  void submit(Instant now);
  void close_failed(Instant now);
  void count_events();
  bool pump(Instant now);
  void pump_names(Instant now);
  void receive(const FrameRef& frame, Instant now);
  FrameRef frame_with(const worker::Datagram& datagram);
  [[nodiscard]] RankCard card() const;

  WorkerOptions options_;
  RankPhases phases_;
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
  WorkerEnd end_ = WorkerEnd::not_yet;
  RankTimes times_;
  worker::SendBatch& batch_;
};

}  // namespace tributary::sim
