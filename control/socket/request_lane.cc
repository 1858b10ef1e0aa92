#include "control/socket/request_lane.h"

#include <utility>

namespace tributary::control {

RequestLane::RequestLane() : thread_([this] { run(); }) {}

RequestLane::~RequestLane() {
  stop();
}

bool RequestLane::post(Task work, Task then, std::size_t most) {
  {
    const std::lock_guard lock(mutex_);
    if (requests_.size() >= most) return false;
    requests_.push_back({std::move(work), std::move(then)});
  }
  changed_.notify_one();
  return true;
}

void RequestLane::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void RequestLane::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !requests_.empty(); });
    if (stopping_) return;
    const Task& work = requests_.front().work;  // others are added behind it
    lock.unlock();
    work();
    lock.lock();
    const Task then = std::move(requests_.front().then);
    requests_.pop_front();
    lock.unlock();
    then();
    lock.lock();
  }
}

}  // namespace tributary::control
