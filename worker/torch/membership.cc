#include "worker/torch/membership.h"

#include <stdexcept>
#include <utility>

namespace tributary::torch_backend {

void Membership::set(Stage stage) {
  stage_ = stage;
  changed_.notify_all();
}

std::shared_ptr<Communicator> Membership::communicator() {
  std::unique_lock lock(mutex_);
  if (stage_ == Stage::unbound && !leaves_) {
    set(Stage::joining);
    lock.unlock();
    std::shared_ptr<Communicator> joined;
    std::exception_ptr failure;
    try {
      joined = join();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    communicator_ = std::move(joined);
    failure_ = failure;
    set(Stage::bound);
  }
  changed_.wait(lock, [this] { return stage_ != Stage::joining; });
  if (leaves_) throw std::runtime_error("tributary: this process group has been destroyed");
  if (failure_) std::rethrow_exception(failure_);
  return communicator_;
}

std::shared_ptr<Communicator> Membership::join() {
  binding_ = agreement_->bind();
  if (!binding_.job) return nullptr;
  CommunicatorOptions options;
  options.job = *binding_.job;
  options.rank = rank_;
  options.size = size_;
  options.address = binding_.address;
  options.run = binding_.run;
  options.join_timeout = timeout_;
  options.op_timeout = timeout_;
  options.cancelled = [this] { return leaves_ || agreement_->interrupted(); };
  auto joined = Communicator::create(options);
  agreement_->joined(joined->epoch());
  // Other groups may have the job once this rank is not in it any more.
  return {joined.release(), [this](Communicator* own) {
            delete own;
            if (::getpid() == process_) agreement_->release();
          }};
}

void Membership::leave(bool failed) {
  if (::getpid() != process_) return;  // a forked child has no thread that joins or has to be told
  std::unique_lock lock(mutex_);
  if (leaves_.exchange(true)) {
    changed_.wait(lock, [this] { return stage_ == Stage::left; });
    return;
  }
  if (stage_ == Stage::joining) {
    lock.unlock();
    agreement_->cancel();
    lock.lock();
    changed_.wait(lock, [this] { return stage_ != Stage::joining; });
  }
  auto own = std::exchange(communicator_, nullptr);
  const bool only_claimed = own == nullptr && binding_.job;
  lock.unlock();
  if (own && !failed) agreement_->wait_for_all();
  own.reset();
  if (only_claimed) agreement_->release();
  lock.lock();
  set(Stage::left);
}

}  // namespace tributary::torch_backend
