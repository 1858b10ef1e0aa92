#include "worker/torch/membership.h"

#include <stdexcept>
#include <utility>

namespace tributary::torch_backend {

Communicator* Membership::communicator() {
  const std::lock_guard lock(mutex_);
  if (!bound_) {
    bound_ = true;
    try {
      join();
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  if (left_) throw std::runtime_error("tributary: this process group has been destroyed");
  if (failure_) std::rethrow_exception(failure_);
  return communicator_.get();
}

void Membership::join() {
  binding_ = agreement_->bind();
  if (!binding_.job) return;
  CommunicatorOptions options;
  options.job = *binding_.job;
  options.rank = rank_;
  options.size = size_;
  options.address = binding_.address;
  options.join_timeout = timeout_;
  options.op_timeout = timeout_;
  options.cancelled = [this] { return agreement_->interrupted(); };
  auto joined = Communicator::create(options);
  agreement_->joined(joined->epoch());
  communicator_ = std::move(joined);
}

void Membership::leave(bool failed) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(left_, true) || !binding_.job) return;
  if (communicator_ && !failed) agreement_->wait_for_all();
  communicator_.reset();
  agreement_->release();
}

}  // namespace tributary::torch_backend
