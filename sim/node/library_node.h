// A rank on the whole library: Progress, which goes from epoch to epoch by itself, on a simulated
// network card, under an application that calls one op after the other.
//
//   start ─▶ joining ─▶ ops, whatever becomes of epochs ─leave()─▶ over
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/prng.h"
#include "sim/node/node.h"
#include "sim/node/rank_card.h"
#include "sim/scenario/workload.h"
#include "worker/api/progress.h"

namespace tributary::sim {

class LibraryNode;

class LibraryObserver {
 public:
  virtual ~LibraryObserver() = default;
  // An op has ended, in the order of the calls or not.
  virtual void on_op_ended(LibraryNode& node, std::uint32_t index, const OpPlan& plan,
                           const OpResult& result,
                           const std::optional<worker::Failure>& failure) = 0;
  virtual void on_model_call(LibraryNode& node, std::uint32_t index, const OpPlan& plan) = 0;
  virtual void on_join_failed(LibraryNode& node, const worker::Failure& failure) = 0;
};

class LibraryNode : public Node {
 public:
  // Ranks have `retry_for` to meet again after a loss. A rank whose ops have ended leaves once
  // `may_leave` is true: all others have ended theirs.
  LibraryNode(const WorkerOptions& options, Duration retry_for, const bool& may_leave,
              LibraryObserver& observer);
  ~LibraryNode() override;

  void start(Instant now) override;
  void crash() override;
  void on_frame(std::uint16_t port, const FrameRef& frame, Instant now) override;
  void on_wake(Instant now) override;
  [[nodiscard]] Instant next_wakeup() const override;
  [[nodiscard]] std::string waiting_for(Instant now) const override;

  [[nodiscard]] const WorkerOptions& options() const { return options_; }
  // Tells this rank's data from others'.
  [[nodiscard]] std::uint64_t salt() const { return salt_; }
  [[nodiscard]] bool has_ended_ops() const {
    return next_op_ == options_.job->ops && open_.empty();
  }
  [[nodiscard]] bool is_over() const { return over_; }
  [[nodiscard]] CommunicatorStats stats() const { return progress_->stats(); }

 private:
  class Card;
  struct OpenOp;

  [[nodiscard]] bool has_call() const;
  [[nodiscard]] bool may_call(Instant now) const { return has_call() && now >= think_until_; }
  [[nodiscard]] OpPlan plan_of(std::uint32_t index) const;
  void advance(Instant now);
  void call(Instant now);
  void collect();

  WorkerOptions options_;
  Duration retry_for_;
  const bool& may_leave_;
  LibraryObserver& observer_;
  Prng random_;
  std::uint64_t salt_ = 0;
  std::unique_ptr<worker::Progress> progress_;
  Card* card_ = nullptr;  // progress_ owns it
  bool joined_ = false;
  bool over_ = false;
  std::uint32_t next_op_ = 0;
  std::deque<std::unique_ptr<OpenOp>> open_;
  Instant think_until_;
  Instant retry_send_at_ = Instant::max();
  Instant look_at_ = Instant::max();  // whether it may leave
};

}  // namespace tributary::sim
