// Loads in the background, in order, with a callback at the end of each request.
//
//   get_batch() ──▶ queue, bounded ──▶ one thread: what waits is read together ──▶ done(problem)
//
// Small requests that wait are joined into one batch of the loader, so that as many reads are in
// flight as its transport allows. Any thread may call. After a fork, the child's first request
// starts a queue of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/time.h"
#include "pool/loader/loader.h"

namespace tributary::pool {

class AsyncLoader {
 public:
  // Called once for each request, on the loader's thread: with nullptr, or the error (LoadError
  // with the request's ids that could not be read). It must not call wait(), and must not throw.
  using Done = std::function<void(std::exception_ptr)>;

  explicit AsyncLoader(Loader& loader, std::size_t most_waiting = 1024);
  // Finishes all requests that were begun.
  ~AsyncLoader();
  AsyncLoader(const AsyncLoader&) = delete;
  AsyncLoader& operator=(const AsyncLoader&) = delete;

  // Like Loader::get_batch(); throws what that throws before it reads. Targets must stay valid
  // until `done`. Waits while `most_waiting` requests are in the queue.
  void get_batch(std::vector<std::uint64_t> ids, std::vector<std::span<std::byte>> targets,
                 Done done);
  // Waits until all requests that were begun before are done.
  void wait();
  // Like wait(), for at most `limit`. Returns false if some are not done then; they go on.
  bool wait_for(Duration limit);

 private:
  struct Request {
    std::vector<std::uint64_t> ids;
    std::vector<std::span<std::byte>> targets;
    Done done;
  };
  struct Queue {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Request> waiting;
    std::size_t begun = 0;
    std::size_t ended = 0;
    bool stopping = false;
    std::thread thread;
  };

  Queue& queue();
  void run(Queue& queue);
  void load(const std::vector<Request>& requests);

  Loader& loader_;
  const std::size_t most_waiting_;
  std::mutex mutex_;  // of the two below
  std::unique_ptr<Queue> queue_;
  int process_ = 0;
};

}  // namespace tributary::pool
