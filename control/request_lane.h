// A thread that does what it is given, one after the other.
//
// post() is any thread's; made and stopped by its owner.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace tributary::control {

class RequestLane {
 public:
  using Task = std::function<void()>;

  RequestLane();
  // stop()
  ~RequestLane();
  RequestLane(const RequestLane&) = delete;
  RequestLane& operator=(const RequestLane&) = delete;

  // False, and nothing is done: as many as `most` are under way or wait.
  bool post(Task task, std::size_t most);
  // Waits for what is under way; what waits never begins. Idempotent.
  void stop();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;  // the first is under way, or about to be
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tributary::control
