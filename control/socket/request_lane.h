// A thread that does its tasks one after the other. A task's result is sent after its place is
// free: a client that has the answer may ask again at once, and finds room.
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

  // Does `work`, and `then` when it counts no more. False, and nothing is done: as many as `most`
  // are under way or wait.
  bool post(Task work, Task then, std::size_t most);
  // Waits for what is under way, both parts; what waits never begins. Idempotent.
  void stop();

 private:
  struct Request {
    Task work;
    Task then;
  };
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> requests_;  // the first is under way, or about to be
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tributary::control
