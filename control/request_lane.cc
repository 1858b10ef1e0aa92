#include "control/request_lane.h"

#include <utility>

namespace tributary::control {

RequestLane::RequestLane() : thread_([this] { run(); }) {}

RequestLane::~RequestLane() {
  stop();
}

bool RequestLane::post(Task task, std::size_t most) {
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.size() >= most) return false;
    tasks_.push_back(std::move(task));
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
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (stopping_) return;
    const Task& task = tasks_.front();  // others are added behind it
    lock.unlock();
    task();
    lock.lock();
    tasks_.pop_front();
  }
}

}  // namespace tributary::control
