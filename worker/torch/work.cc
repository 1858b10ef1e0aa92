#include "worker/torch/work.h"

#include <algorithm>
#include <utility>

#include "worker/torch/completer.h"

namespace tributary::torch_backend {
namespace {

// A future holds an IValue: a list of tensors, as DDP expects.
c10::intrusive_ptr<c10::ivalue::Future> new_future() {
  return c10::make_intrusive<c10::ivalue::Future>(c10::ListType::create(c10::TensorType::get()));
}

// PyTorch knows no results that lack ranks: DDP would divide a part of the sum by all ranks.
[[noreturn]] void refuse_degraded(const Outcome& outcome) {
  std::string text = "tributary: the result lacks rank";
  const char* before = outcome.missing.size() == 1 ? " " : "s ";
  for (const std::uint32_t rank : outcome.missing) {
    text += before + std::to_string(rank);
    before = ", ";
  }
  text +=
      ", late by more than stragglers.degraded_after; only a SUM of floats can do without, under "
      "TRIBUTARY_TORCH_DEGRADED=scale";
  throw CommunicatorError(wire::Reason::none, outcome.missing, text);
}

}  // namespace

SwitchWork::SwitchWork(int rank, std::uint32_t ranks, Call call, std::vector<Request> requests,
                       std::weak_ptr<Completer> completer)
    : Work(rank, call.type, call.title, call.inputs),
      ranks_(ranks),
      call_(std::move(call)),
      requests_(std::move(requests)),
      completer_(std::move(completer)) {}

bool SwitchWork::ops_done() const {
  return std::all_of(requests_.begin(), requests_.end(),
                     [](const Request& request) { return request.done(); });
}

bool SwitchWork::must_be_finished() const {
  return std::any_of(call_.received.begin(), call_.received.end(),
                     [](const HostMemory& memory) { return memory.copied(); });
}

bool SwitchWork::isCompleted() {
  if (!ops_done()) return false;
  finish_once();
  return true;
}

bool SwitchWork::isSuccess() const {
  const std::lock_guard lock(mutex_);
  return completed_ && !exception_;
}

bool SwitchWork::failed() const {
  const std::lock_guard lock(mutex_);
  return completed_ && exception_ != nullptr;
}

bool SwitchWork::wait(std::chrono::milliseconds timeout) {
  if (timeout == kNoTimeout) timeout = call_.timeout;
  const auto end = std::chrono::steady_clock::now() + timeout;
  for (Request& request : requests_) {
    while (!request.done()) {
      Duration limit = Duration::seconds(3600);
      if (timeout != kNoTimeout) {
        const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(
            end - std::chrono::steady_clock::now());
        TORCH_CHECK(left.count() > 0, "tributary: ", call_.text,
                    ": timed out: not done within the timeout of ", timeout.count(),
                    " ms; it goes on, and its tensors are in use");
        limit = Duration::ns(left.count());
      }
      try {
        request.wait_for(limit);
      } catch (const std::exception&) {
        break;  // finish_once() handles it
      }
    }
  }
  finish_once();
  const std::lock_guard lock(mutex_);
  if (exception_) std::rethrow_exception(exception_);
  return true;
}

std::vector<at::Tensor> SwitchWork::result() {
  TORCH_CHECK(isCompleted(), "tributary: ", call_.text,
              ": result() before the work is done; call wait() first");
  return call_.results;
}

c10::intrusive_ptr<c10::ivalue::Future> SwitchWork::getFuture() {
  bool hand_over = false;
  {
    const std::lock_guard lock(finishing_);
    if (future_) return future_;
    future_ = new_future();
    if (finished_) {
      if (exception_)
        future_->setError(exception_);
      else
        future_->markCompleted(call_.results);
    } else {
      hand_over = !std::exchange(with_completer_, true);
    }
  }
  if (!hand_over) return future_;
  const auto self = c10::intrusive_ptr<SwitchWork>::reclaim_copy(this);
  if (const auto completer = completer_.lock()) {
    completer->add(self);
  } else {
    wait_for_ops();
    conclude();
  }
  return future_;
}

// Completes the result of one op that lacks ranks, or refuses it. A rank that receives no result,
// as in a reduce to another rank, has nothing to complete.
void SwitchWork::settle(std::size_t request) {
  const Outcome outcome = requests_[request].outcome();
  if (!outcome.degraded()) return;
  if (!call_.scalable) refuse_degraded(outcome);
  if (request < call_.received.size())
    outcome.scale(call_.received[request].data(), *call_.scalable, ranks_);
}

// The result of the ops, once their data is in the caller's memory; null: success.
std::exception_ptr SwitchWork::outcome() {
  try {
    for (std::size_t i = 0; i < requests_.size(); ++i) settle(i);
    for (HostMemory& memory : call_.received) memory.unpack();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

void SwitchWork::finish_once() {
  c10::intrusive_ptr<c10::ivalue::Future> future;
  std::exception_ptr failure;
  {
    const std::lock_guard lock(finishing_);
    if (finished_) return;
    failure = outcome();
    finish(failure);
    finished_ = true;
    future = future_;
    call_.used.clear();
  }
  // Callbacks run here; they may call this work's methods.
  if (!future) return;
  if (failure)
    future->setError(failure);
  else
    future->markCompleted(call_.results);
}

void SwitchWork::wait_for_ops() noexcept {
  for (Request& request : requests_) {
    try {
      request.wait();
    } catch (...) {  // finish_once() handles it
    }
  }
}

void SwitchWork::conclude() noexcept {
  try {
    finish_once();
  } catch (...) {  // from a callback: the callback's future reports it
  }
}

}  // namespace tributary::torch_backend
