// The progress thread of a communicator: drives one session over one transport.
//
//   callers ──submit()──▶ inbox_ ──▶ thread: session_ ⇄ transport_ ──▶ Request::State::done
//
// The thread sleeps in Transport::wait() whenever there is nothing to send; a submitter wakes it
// only if it sleeps. It alone touches session_, batch_ and transport_, but for counters and wake().
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "worker/communicator.h"
#include "worker/request_state.h"
#include "worker/session.h"
#include "worker/transport.h"

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
  [[nodiscard]] std::uint16_t epoch() const { return session_.epoch(); }

  // After joining.
  [[nodiscard]] const wire::StartInfo& start_info() const { return session_.start_info(); }

  // Any thread. Blocks while too many ops are open. The ops are submitted in this order, with none
  // of other threads between them.
  void submit(std::span<const State> states);
  void submit(const State& state) { submit(std::span(&state, 1)); }
  [[nodiscard]] CommunicatorStats stats() const;
  // In a forked child there is no thread, and the sockets are the parent's: forgets both.
  void abandon();

 private:
  void run();
  void take_submissions(Instant now);
  void start_if_joined();
  bool send_batch(Instant now);
  void publish_finished();
  void sleep(Instant now, bool blocked);

  std::unique_ptr<Transport> transport_;
  Session session_;
  SendBatch batch_;
  bool started_ = false;      // the transport knows START, or never will
  std::vector<State> taken_;  // of inbox_, in this turn

  std::mutex mutex_;  // of the next block
  std::condition_variable changed_;
  std::vector<State> inbox_;
  std::size_t open_ops_ = 0;  // submitted, not finished
  bool joined_ = false;       // or failed
  std::optional<Failure> join_failure_;

  std::atomic<bool> sleeping_{false};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace tributary::worker
