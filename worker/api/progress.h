// The progress thread of a communicator: drives a session for each plane of the job over one
// transport.
//
//   callers ──submit()──▶ inbox_ ──▶ thread: sessions_ ⇄ transport_ ──▶ Request::State::done
//
// The first plane's START gives the number of planes; then the others are joined, and the
// communicator has joined when all of them run. If one plane's epoch ends, all end.
//
// In a drain (docs/protocol/drains.md) ops wait in inbox_ from the one on that the switches name,
// and when those before it are done, other sessions take the place of these and join the next
// epoch. Callers notice a pause.
//
// The thread sleeps in Transport::wait() whenever there is nothing to send; a submitter wakes it
// only if it sleeps. Only this thread uses sessions_, batch_ and transport_, except for counters
// and wake().
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "worker/agreement/model_run.h"
#include "worker/api/communicator.h"
#include "worker/api/request_state.h"
#include "worker/api/retry_state.h"
#include "worker/names/name_calls.h"
#include "worker/session/session.h"
#include "worker/transport/transport.h"

namespace tributary::worker {

class Progress {
 public:
  using State = std::shared_ptr<Request::State>;

  // Ops of epochs that end unannounced are done again, within that time, from copies that take so
  // many bytes at most (docs/protocol/retry.md).
  struct RetryOptions {
    Duration at_most;
    std::size_t most_bytes = 0;
  };
  // Starts joining.
  Progress(std::unique_ptr<Transport> transport, const SessionOptions& options,
           const std::optional<RetryOptions>& retry = {});
  // The same without a thread: the caller's is in its place, and calls turn(). For simulated
  // worlds.
  Progress(std::unique_ptr<Transport> transport, const SessionOptions& options,
           const std::optional<RetryOptions>& retry, Instant now);
  // Leaves: open ops fail; tries for at most 60 ms to tell the switch.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Waits until joined or failed, see join_failure(), or until there is a notice; true for the
  // former.
  bool wait_joined(Duration limit);
  // While joining: what the caller of create() should know, once; see Session::taken_by().
  std::optional<std::string> take_notice();
  [[nodiscard]] const std::optional<Failure>& join_failure() const { return join_failure_; }
  // Only after joining. Of the latest epoch that all planes have joined; any thread.
  [[nodiscard]] std::uint16_t epoch() const { return epoch_.load(std::memory_order_relaxed); }
  // The first epoch of those that follow each other without a loss or a resize; equal on all ranks.
  [[nodiscard]] std::uint16_t run_number() const {
    return run_number_.load(std::memory_order_relaxed);
  }
  struct Agreed {
    wire::StartInfo info;
    std::uint32_t number = 0;  // differs from that of the epoch before if the info does
    bool degrades = false;     // results may lack ranks
  };
  [[nodiscard]] Agreed agreed() const;
  // Ops are shared out among several switches, by the settings that they have now. Before any is
  // submitted.
  void share_ops() { shares_ops_ = true; }

  // Any thread. Reserves the op's memory until it is finished. Never waits, however many ops are
  // open. Throws std::invalid_argument if the memory is in use (worker/api/open_memory.h).
  void reserve(Request::State& op, const CallMemory& memory);
  // Any thread, once after reserve(). Its parts are submitted in their order, without parts of
  // other ops between them.
  void submit(const State& state);
  // Other numbers of ranks (docs/protocol/resize.md), one call at a time. `vote` is the next op
  // that this thread submits: from its result on, no other op begins before decide().
  void begin_vote(const State& vote);
  // The ranks agree on that number; none: it stays. Otherwise wait_resized() follows.
  void decide(std::optional<std::uint32_t> size);
  // True once this rank has joined the others under that number, or has left them, or why not.
  bool wait_resized(Duration limit);
  [[nodiscard]] const std::optional<Failure>& resize_failure() const { return resize_failure_; }
  // Any thread, after joining.
  [[nodiscard]] Session::Sizes sizes() const;
  // Any thread. Starts a put or get, after joining; an epoch that ends leaves it alone.
  void submit(NameCalls::Call call);
  [[nodiscard]] const NameCalls& names() const { return names_; }
  // Any thread. Ends the epoch for this rank because another switch's has ended; the first cause is
  // kept.
  void end(const Failure& cause);
  [[nodiscard]] CommunicatorStats stats() const;
  [[nodiscard]] const std::string& address() const { return options_.switch_name; }
  // In a forked child there is no thread, and the sockets are the parent's: gives up both.
  void abandon();

  // Does all that is due: a packet has come, an op was submitted, or a timer has run out.
  enum class Turn : std::uint8_t {
    idle,     // until next_wakeup(), or until something comes
    again,    // there is more to do at once
    blocked,  // the transport was full
    over,     // it has left
  };
  Turn turn(Instant now);
  [[nodiscard]] Instant next_wakeup() const;
  // A submitted op may be taken: the next turn is due.
  [[nodiscard]] bool waits_for_turn() const;
  // Leaves the job within the next turns.
  void leave() { stop_ = true; }

 private:
  [[nodiscard]] Session& first() const { return *sessions_.front(); }
  void run();
  void take_submissions(Instant now);
  void submit_parts(Request::State& op, Instant now);
  [[nodiscard]] std::uint32_t op_limit() const;
  [[nodiscard]] bool may_take(const Request::State& op) const;
  [[nodiscard]] bool may_begin_op() const { return !resuming_ && first().next_op() < op_limit(); }
  void resume_if_drained(Instant now);
  void add_to_past();
  void settle();
  void add_planes();
  void share_failure();
  void take_end();
  void start_if_joined();
  void note_taken();
  bool send_batches(Instant now);
  void publish_finished(Instant now);
  [[nodiscard]] bool all_left() const;
  void sleep(Instant now, bool blocked);
  // progress_retry.cc, of another number of ranks
  void take_decision(Instant now);
  void go_on_resizing(Instant now);
  void leave_for_good(Instant now);
  void be_resized();
  void end_resize(const std::optional<Failure>& failure);
  [[nodiscard]] bool is_resizing() const { return deciding_ || resize_to_ || resized_by_join_; }
  bool refuse_old_size(const State& op);
  // progress_retry.cc
  [[nodiscard]] const Failure* lost_epoch() const;
  void take_for_retry(Request::Part& part);
  void go_on_retrying(Instant now);
  void begin_anew(const Failure& failure, Instant now);
  void give_up_retry(const Failure& failure);
  void start_retry(bool resumed);
  void submit_for_retry(Instant now);
  void submit_called(const CalledOp& called, Request::State& state, Instant now);
  void agreed_on_holdings();
  [[nodiscard]] bool tells_run(Instant now);
  [[nodiscard]] bool take_for_model_run(Request::Part& part);
  void enter_epoch_of_run(bool resumed);
  void leave_epoch_of_run() {
    model_run_.leave(first().next_op());
    run_question_.reset();
  }

  SessionOptions options_;  // of the running epoch's sessions
  Instant joining_since_;
  std::unique_ptr<Transport> transport_;
  // By plane. The first exists from the beginning; all do before joining is reported. Exchanged
  // under mutex_.
  std::vector<std::unique_ptr<Session>> sessions_;
  std::vector<wire::Resumption> resumptions_;  // by plane, of the epoch before
  // Numbers of ops, where these are shared among switches: of the first in this epoch, and of the
  // one after the last that was submitted.
  std::uint32_t first_op_ = 0;
  std::uint32_t next_number_ = 0;
  std::unique_ptr<RetryState> retry_;  // null: off, or given up
  ModelRun model_run_;
  State run_question_;     // to the server of a model, until it is answered
  bool resuming_ = false;  // from one epoch's end to the next one's begin
  const std::optional<RetryOptions> retry_options_;
  bool deciding_ = false;                   // the vote has its result
  std::optional<std::uint32_t> resize_to_;  // until the epoch is drained
  Instant resize_until_;                    // when it has to be
  bool resized_by_join_ = false;            // from then until the next one begins
  bool leaving_for_good_ = false;
  std::atomic<bool> shares_ops_{false};
  SendBatch batch_;
  NameCalls names_;
  std::size_t first_to_send_ = 0;  // in sessions_, round robin: a full transport blocks them all
  bool sent_full_batch_ = false;   // in this turn: there is more
  bool started_ = false;           // the transport knows START, or never will
  bool settled_ = false;           // all planes run, or have failed
  bool noted_ = false;             // there was a notice
  std::vector<State> taken_;       // from inbox_, in this turn
  std::vector<State> ended_;       // in this turn; their waiters do not know yet

  mutable std::mutex mutex_;  // of the next block
  std::condition_variable changed_;
  std::vector<State> inbox_;
  OpenMemory open_memory_;  // memory of those
  bool joined_ = false;     // or failed
  std::optional<std::string> notice_;
  std::optional<Failure> join_failure_;
  std::optional<Failure> end_;  // see end()
  State vote_;
  std::optional<std::uint32_t> decision_;
  bool resized_ = false;
  std::optional<Failure> resize_failure_;
  Session::Sizes sizes_;
  Agreed agreed_;
  CommunicatorStats past_;  // of sessions that have been replaced

  std::atomic<std::uint16_t> epoch_{0};
  std::atomic<std::uint16_t> run_number_{0};

  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> ends_{false};  // end_ is set
  std::atomic<bool> decided_{false};
  std::thread thread_;
};

}  // namespace tributary::worker
