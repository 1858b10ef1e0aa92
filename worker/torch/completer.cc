#include "worker/torch/completer.h"

#include <pthread.h>

#include <utility>

namespace tributary::torch_backend {

void Completer::add(c10::intrusive_ptr<SwitchWork> work) {
  std::unique_lock lock(mutex_);
  if (stopping_) {
    lock.unlock();
    work->wait_for_ops();
    work->conclude();
    return;
  }
  works_.push_back(std::move(work));
  call_next();
}

// A thread comes for the first work, unless one will come anyway. With the lock.
void Completer::call_next() {
  if (works_.empty() || called_ || waits_) return;
  called_ = true;
  if (idle_ != 0)
    changed_.notify_one();
  else
    threads_.emplace_back([self = shared_from_this()] { self->run(); });
}

void Completer::run() {
  pthread_setname_np(pthread_self(), "tributary-torch");
  std::unique_lock lock(mutex_);
  while (true) {
    while (works_.empty() || waits_) {
      if (stopping_ && works_.empty()) return;
      ++idle_;
      changed_.wait(lock);
      --idle_;
    }
    called_ = false;
    waits_ = true;
    auto work = std::move(works_.front());
    works_.pop_front();
    lock.unlock();
    work->wait_for_ops();
    lock.lock();
    waits_ = false;
    call_next();
    if (stopping_) changed_.notify_all();
    lock.unlock();
    work->conclude();
    work.reset();  // outside the lock: it may free tensors
    lock.lock();
  }
}

void Completer::stop() {
  std::unique_lock lock(mutex_, std::defer_lock);
  // After fork() the lock may be another process's for ever, and no thread is there to be joined.
  if (::getpid() != process_) {
    for (std::thread& thread : threads_) thread.detach();
    threads_.clear();
    return;
  }
  lock.lock();
  stopping_ = true;
  changed_.notify_all();
  while (!threads_.empty()) {
    std::thread thread = std::move(threads_.back());
    threads_.pop_back();
    lock.unlock();
    // A callback may have dropped the last reference to the group.
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();
    else
      thread.join();
    lock.lock();
  }
}

}  // namespace tributary::torch_backend
