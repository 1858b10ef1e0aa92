// One call that the switch serves, in PyTorch's form: c10d::Work with a future.
//
//   started ──requests done──▶ finish(): unpack, mark the future, run its callbacks ──▶ completed
//
// The first of these finishes it: a thread in wait() or isCompleted(), or the Completer, which
// waits for works whose end has consequences without a waiter: a future, or memory to copy back. So
// wait() of a plain call costs only the wake-up of its own thread.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/distributed/c10d/Work.hpp>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "worker/api/communicator.h"
#include "worker/torch/host_memory.h"
#include "worker/torch/version.h"

namespace tributary::torch_backend {

class Completer;

class SwitchWork final : public c10d::Work {
 public:
  struct Call {
    c10d::OpType type = c10d::OpType::UNKNOWN;
    const char* title = "";                // for the profiler: "tributary:all_reduce"
    std::string text;                      // for errors: "allreduce of 8 B float32 (SUM)"
    std::vector<at::Tensor> inputs;        // for the profiler
    std::vector<at::Tensor> results;       // the contents of future and result()
    std::vector<HostMemory> used;          // stays alive until the ops are done
    std::vector<HostMemory> received;      // to unpack
    std::chrono::milliseconds timeout{0};  // of wait(); 0: the group's, which the ops have
    // The type of results that are scaled where they lack ranks; none: that is an error.
    std::optional<wire::DType> scalable = {};
  };
  SwitchWork(int rank, std::uint32_t ranks, Call call, std::vector<Request> requests,
             std::weak_ptr<Completer> completer);

  bool isCompleted() override;
  bool isSuccess() const override;
  bool wait(std::chrono::milliseconds timeout = kNoTimeout) override;
  std::vector<at::Tensor> result() override;
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;

  // True if its ops are done, whether or not it is finished.
  [[nodiscard]] bool ops_done() const;
  [[nodiscard]] bool must_be_finished() const;
  // Blocks until the ops are done, then finishes it. Never throws.
  void wait_and_finish() noexcept;
  [[nodiscard]] bool failed() const;

 private:
  void finish_once();
  std::exception_ptr outcome();
  void settle(std::size_t request);

  const std::uint32_t ranks_;
  Call call_;
  std::vector<Request> requests_;
  std::weak_ptr<Completer> completer_;
  std::mutex finishing_;  // held while it is finished
  bool finished_ = false;
  bool with_completer_ = false;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// A thread that waits for works, in the order of their arrival. The first work starts it.
class Completer {
 public:
  ~Completer() { stop(); }
  // After stop(): finishes the work at once, on this thread.
  void add(c10::intrusive_ptr<SwitchWork> work);
  // Finishes its works, then ends. Their ops must end soon: the communicator is already gone.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<c10::intrusive_ptr<SwitchWork>> works_;
  std::thread thread_;
  bool stopping_ = false;
};

}  // namespace tributary::torch_backend
