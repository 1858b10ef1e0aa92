// Puts and gets of a communicator: callers submit and wait, the progress thread runs them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "worker/names/name_client.h"
#include "worker/transport/transport.h"

namespace tributary::worker {

class NameCalls {
 public:
  using Call = std::shared_ptr<NameCall>;

  // Any thread.
  void submit(Call call);
  // True once the call has ended: then its value and failure are final. False after `limit`.
  bool wait_for(const NameCall& call, Duration limit) const;
  // True if a call waits for take().
  [[nodiscard]] bool waits() const { return has_inbox_; }

  // The progress thread:
  void identify(const NameClient::Identity& identity) { client_.identify(identity); }
  void take(Instant now);
  void on_packet(const wire::Packet& packet, Instant now) { client_.on_packet(packet, now); }
  // Returns false when the transport was full: what it did not take counts as lost.
  bool send(Transport& transport, Instant now);
  [[nodiscard]] Instant next_wakeup() const { return client_.next_wakeup(); }
  void publish();
  // Ends the calls that have been taken.
  void fail(const std::string& why) { client_.fail_all(why); }
  // Ends all calls, and those that come later.
  void close();

 private:
  NameClient client_;
  NameBatch batch_;
  mutable std::mutex mutex_;  // of the next block, and of `done` of each call
  mutable std::condition_variable ended_;
  std::vector<Call> inbox_;
  std::atomic<bool> has_inbox_{false};  // spares the progress thread the lock
  bool closed_ = false;
};

}  // namespace tributary::worker
