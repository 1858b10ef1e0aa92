// A process group's membership in a job of the switch: none until the first call that the switch
// can serve, then joined, until the group is destroyed or the job fails.
//
//   unbound ──first call──▶ joined ──leave()──▶ left
//      │                      └─ an op fails: every later call throws, too
//      ├─ no job is free ──▶ refused: every call goes to the inner group
//      └─ joining fails ──▶ failed: every call for the switch throws the reason
//
// The first call joins, on its thread and with no lock held; other calls wait for it. leave() ends
// a join that is under way, at once, for all of them. A call that has the communicator shares its
// ownership, so that leave() on another thread does not free it meanwhile.
//
// Job, address and end are agreed on through the group's store, in Python
// (worker/python/tributary/torch/binding.py), behind the interface Agreement.
#pragma once

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "worker/api/communicator.h"

namespace tributary::torch_backend {

struct Binding {
  std::optional<std::uint32_t> job;  // none: no job is left for this group
  std::string address;
  std::string run;      // see CommunicatorOptions
  std::string why_not;  // if there is no job
};

class Agreement {
 public:
  virtual ~Agreement() = default;
  // Called on every rank of the group; blocks until rank 0 has chosen.
  virtual Binding bind() = 0;
  // Throws std::runtime_error if another rank of the group is in another epoch.
  virtual void joined(std::uint16_t epoch) = 0;
  // Blocks until every rank has called it, for a limited time. Never throws.
  virtual void wait_for_all() noexcept = 0;
  // This rank does not use the job any more. Never throws.
  virtual void release() noexcept = 0;
  // True if the user asks for the end (Ctrl-C) while this rank joins.
  virtual bool interrupted() = 0;
  // bind() and joined() throw from now on, also those that block on another thread. Never throws.
  virtual void cancel() noexcept = 0;
  // Runs `body`, which may block, without the interpreter's lock.
  virtual void unlocked(const std::function<void()>& body) { body(); }
};

class Membership {
 public:
  Membership(std::uint32_t rank, std::uint32_t size, Duration timeout,
             std::unique_ptr<Agreement> agreement)
      : rank_(rank), size_(size), timeout_(timeout), agreement_(std::move(agreement)) {}

  // The communicator, joined on the first call; nullptr if there is no job for this group. Throws
  // the error of joining, each time. Any thread. Its ops end when its last owner drops it.
  std::shared_ptr<Communicator> communicator();
  // Why there is no job.
  [[nodiscard]] const std::string& why_not() const { return binding_.why_not; }
  [[nodiscard]] Agreement& agreement() const { return *agreement_; }
  [[nodiscard]] std::uint32_t job() const { return binding_.job.value_or(0); }
  // Open ops fail. A rank whose ops have all succeeded waits for the others first: a rank that lost
  // a result still needs the job. May be called again. Any thread; returns once it has left.
  void leave(bool failed);

 private:
  enum class Stage : std::uint8_t { unbound, joining, bound, left };
  std::shared_ptr<Communicator> join();
  void set(Stage stage);

  const pid_t process_ = ::getpid();

  const std::uint32_t rank_;
  const std::uint32_t size_;
  const Duration timeout_;
  const std::unique_ptr<Agreement> agreement_;
  std::atomic<bool> leaves_{false};  // a join that is under way looks at it

  std::mutex mutex_;  // of stage_, communicator_ and failure_
  std::condition_variable changed_;
  Stage stage_ = Stage::unbound;
  Binding binding_;  // written while joining, by that thread
  std::shared_ptr<Communicator> communicator_;
  std::exception_ptr failure_;
};

}  // namespace tributary::torch_backend
