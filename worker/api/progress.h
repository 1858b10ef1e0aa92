// The progress thread of a communicator: drives a session for each plane of the job over one
// transport.
//
//   callers ──submit()──▶ inbox_ ──▶ thread: sessions_ ⇄ transport_ ──▶ Request::State::done
//
// The first plane's START says how many there are; the others are joined then, and the communicator
// has joined when all of them run. What ends one plane's epoch ends it all.
//
// The thread sleeps in Transport::wait() whenever there is nothing to send; a submitter wakes it
// only if it sleeps. It alone touches sessions_, batch_ and transport_, but for counters and
// wake().
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

#include "worker/api/communicator.h"
#include "worker/api/request_state.h"
#include "worker/session/session.h"
#include "worker/transport/transport.h"

namespace tributary::worker {

class Progress {
 public:
  using State = std::shared_ptr<Request::State>;

  // Starts joining.
  Progress(std::unique_ptr<Transport> transport, const SessionOptions& options);
  // Leaves: open ops fail; the switch is told, for at most 60 ms.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // True once joined or failed; see join_failure().
  bool wait_joined(Duration limit);
  [[nodiscard]] const std::optional<Failure>& join_failure() const { return join_failure_; }
  // After joining.
  [[nodiscard]] std::uint16_t epoch() const { return first().epoch(); }
  [[nodiscard]] const wire::StartInfo& start_info() const { return first().start_info(); }

  // Any thread. Reserves the op's memory and a place among the open ops, both until it is finished.
  // Waits for a place; false: `cancelled`, asked now and then, ended that. Throws
  // std::invalid_argument where the memory is in use (worker/api/open_memory.h).
  bool reserve(Request::State& op, const CallMemory& memory,
               const std::function<bool()>& cancelled);
  // Any thread, once after reserve(). Its parts are submitted in their order, with none of other
  // ops between them.
  void submit(const State& state);
  [[nodiscard]] CommunicatorStats stats() const;
  // In a forked child there is no thread, and the sockets are the parent's: forgets both.
  void abandon();

 private:
  [[nodiscard]] Session& first() const { return *sessions_.front(); }
  void run();
  void take_submissions(Instant now);
  void submit_parts(Request::State& op, Instant now);
  void add_planes();
  void share_failure();
  void start_if_joined();
  bool send_batches(Instant now);
  void publish_finished();
  [[nodiscard]] Instant next_wakeup() const;
  [[nodiscard]] bool all_left() const;
  void sleep(Instant now, bool blocked);

  SessionOptions options_;
  Instant joining_since_;
  std::unique_ptr<Transport> transport_;
  // By plane. The first is there from the beginning; all are before anybody is told of joining.
  std::vector<std::unique_ptr<Session>> sessions_;
  SendBatch batch_;
  std::size_t first_to_send_ = 0;  // of sessions_, in turn: a full transport is so to each of them
  bool sent_full_batch_ = false;   // in this turn: there is more
  bool started_ = false;           // the transport knows START, or never will
  bool told_ = false;              // joined_ is set
  std::vector<State> taken_;       // of inbox_, in this turn
  std::vector<State> ended_;       // in this turn, not yet done for their waiters

  std::mutex mutex_;  // of the next block
  std::condition_variable changed_;
  std::vector<State> inbox_;
  std::size_t open_ops_ = 0;  // reserved, not finished
  OpenMemory open_memory_;    // theirs
  bool joined_ = false;       // or failed
  std::optional<Failure> join_failure_;

  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tributary::worker
