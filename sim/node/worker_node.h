// A rank: the real Session on a simulated network card, under an application that calls one op
// after the other, checks nothing itself, and joins anew when its epoch failed.
//
//   start ─▶ joining ─▶ running ops ─▶ leaving ─▶ done
//               ▲            │ failed
//               └─ back-off ─┘            (a join that times out: gave up)
#pragma once

#include <memory>
#include <vector>

#include "core/prng.h"
#include "sim/node/held_results.h"
#include "sim/node/node.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/workload.h"
#include "worker/session/block_scaled.h"
#include "worker/session/session.h"

namespace tributary::sim {

class WorkerNode;

// Who watches a rank.
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
  // A contribution leaves; the observer may send a broken copy behind it.
  virtual void on_contribution(WorkerNode& node, const FrameRef& frame) = 0;
};

struct WorkerOptions {
  const JobScenario* job = nullptr;
  std::uint32_t job_index = 0;
  std::uint32_t rank = 0;
  std::uint64_t workload_seed = 0;
  std::uint64_t seed = 0;
  wire::MacAddress mac{};
  std::uint32_t ipv4 = 0;
  wire::MacAddress switch_mac{};
  std::uint32_t switch_ipv4 = 0;
  std::uint16_t udp_base_port = 0;
  std::uint32_t first_seq = 0;
  std::uint32_t stray_ppm = 0;  // see LinkQuality
  Instant heal_at;
  std::uint16_t port = 0;  // through which it is on its switch
  Instant tree_settled;    // no switch or worker changes its place any more
};

enum class WorkerEnd : std::uint8_t { not_yet, done, gave_up, dead };

class WorkerNode : public Node {
 public:
  // `batch` is shared by all ranks of a world: what is in it lives for one call.
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
  // What tells this incarnation's data from those before.
  [[nodiscard]] std::uint64_t salt() const { return salt_; }
  [[nodiscard]] bool holds(std::uint8_t shard, std::uint32_t seq) const {
    return held_.contains(shard, seq);
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

  void begin_session(Instant now);
  void advance(Instant now);
  void collect(Instant now);
  void submit(Instant now);
  static OpPlan another_op(const OpPlan& plan);
  void fill_op(OpenOp& open) const;
  void close_failed(Instant now);
  void count_events();
  bool pump(Instant now);
  void receive(const FrameRef& frame, Instant now);
  [[nodiscard]] bool for_me(const wire::EthernetView& ethernet, const wire::Udp4View& udp) const;
  FrameRef frame_of(const worker::Datagram& datagram);
  void drop(DropReason reason) { observer_.on_worker_drop(reason, 1); }

  WorkerOptions options_;
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
  std::vector<std::unique_ptr<OpenOp>> open_;
  HeldResults held_;
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
