// Loads in the background, in order, with a word at the end of each.
//
//   get_batch() ──▶ queue, bounded ──▶ one thread: what waits is read together ──▶ done(problem)
//
// Small requests that wait are joined to one batch of the loader, so that as many reads are in
// flight as its transport takes. Any thread may call. After a fork the child's first request begins
// a queue of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "pool/loader/loader.h"

namespace tributary::pool {

class AsyncLoader {
 public:
  // Called once for each request, on the loader's thread: nullptr, or why (LoadError with the ids
  // of this request that could not be read). It must not call wait(), and throws nothing.
  using Done = std::function<void(std::exception_ptr)>;

  explicit AsyncLoader(Loader& loader, std::size_t most_waiting = 1024);
  // Finishes what was begun.
  ~AsyncLoader();
  AsyncLoader(const AsyncLoader&) = delete;
  AsyncLoader& operator=(const AsyncLoader&) = delete;

  // As Loader::get_batch(); throws what that throws before it reads. Targets stay until `done`.
  // Waits while `most_waiting` requests are in the queue.
  void get_batch(std::vector<std::uint64_t> ids, std::vector<std::span<std::byte>> targets,
                 Done done);
  // Until all that was begun before is done.
  void wait();

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
