// A control thread that does one thing again and again until it is destroyed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace tributary::dataplane {

class PeriodicThread {
 public:
  // Calls `action`, which must not throw, at once and then with `pause` in between.
  PeriodicThread(std::chrono::milliseconds pause, std::function<void()> action)
      : thread_([this, pause, act = std::move(action)] { run(pause, act); }) {}
  // Waits for the call that is under way.
  ~PeriodicThread() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

 private:
  void run(std::chrono::milliseconds pause, const std::function<void()>& action) {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      lock.unlock();
      action();
      lock.lock();
      wake_.wait_for(lock, pause, [this] { return stopping_; });
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace tributary::dataplane
