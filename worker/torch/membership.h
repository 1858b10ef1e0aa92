// A process group's membership in a job of the switch: none until the first call that the switch
// can serve, then joined, until the group is destroyed or the job fails.
//
//   unbound ──first call──▶ joined ──leave()──▶ left
//      │                      └─ an op fails: every later call throws, too
//      ├─ no job is free ──▶ refused: every call goes to the inner group
//      └─ joining fails ──▶ failed: every call for the switch throws the reason
//
// Job, address and end are agreed on through the group's store, in Python
// (worker/python/tributary/torch/binding.py), behind the interface Agreement.
#pragma once

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
  // No rank of this group uses the job any more. Never throws.
  virtual void release() noexcept = 0;
  // True if the user asks for the end (Ctrl-C) while this rank joins.
  virtual bool interrupted() = 0;
  // Runs `body`, which may block, without the interpreter's lock.
  virtual void unlocked(const std::function<void()>& body) { body(); }
};

class Membership {
 public:
  Membership(std::uint32_t rank, std::uint32_t size, Duration timeout,
             std::unique_ptr<Agreement> agreement)
      : rank_(rank), size_(size), timeout_(timeout), agreement_(std::move(agreement)) {}

  // The communicator, joined on the first call; nullptr if there is no job for this group. Throws
  // the error of joining, each time. Any thread.
  Communicator* communicator();
  // Why there is no job.
  [[nodiscard]] const std::string& why_not() const { return binding_.why_not; }
  [[nodiscard]] Agreement& agreement() const { return *agreement_; }
  [[nodiscard]] std::uint32_t job() const { return binding_.job.value_or(0); }
  // Open ops fail. A rank whose ops have all succeeded waits for the others first: a rank that lost
  // a result still needs the job. May be called again.
  void leave(bool failed);

 private:
  void join();

  const std::uint32_t rank_;
  const std::uint32_t size_;
  const Duration timeout_;
  const std::unique_ptr<Agreement> agreement_;
  std::mutex mutex_;
  bool bound_ = false;
  bool left_ = false;
  Binding binding_;
  std::unique_ptr<Communicator> communicator_;
  std::exception_ptr failure_;
};

}  // namespace tributary::torch_backend
