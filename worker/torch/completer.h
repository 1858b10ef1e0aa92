// Threads that wait for works and finish them: those whose end has consequences without a waiter.
//
//   add() ──▶ works ──▶ the one thread that waits for ops ──done──▶ runs this work's callbacks
//                 ▲                                                         │
//                 └── the next thread waits: an idle one, or a new one ◀────┘
//
// A callback may itself start works and wait for them, however deep: the thread that it is on
// waits for no ops but its own. So there are as many threads as callbacks run at once, and one.
// Callbacks of one work run in their order, on one thread, and while no lock is held.
//
// add() and stop(): any thread. A process that fork() made has no such threads.
#pragma once

#include <c10/util/intrusive_ptr.h>
#include <unistd.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "worker/torch/work.h"

namespace tributary::torch_backend {

// Its threads keep it alive: stop() has to be called.
class Completer : public std::enable_shared_from_this<Completer> {
 public:
  // After stop(): finishes the work at once, on this thread.
  void add(c10::intrusive_ptr<SwitchWork> work);
  // Finishes its works, then ends. Their ops must end soon: the communicator is already gone.
  void stop();

 private:
  void run();
  void call_next();

  const pid_t process_ = ::getpid();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<c10::intrusive_ptr<SwitchWork>> works_;  // in the order of their arrival
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;  // of threads_, with those that were called and have not come yet
  bool called_ = false;   // a thread will come for the first work
  bool waits_ = false;    // a thread waits for the ops of a work that it has taken
  bool stopping_ = false;
};

}  // namespace tributary::torch_backend
