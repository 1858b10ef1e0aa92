// Lends a thing to one thread, which uses it in short turns; another thread gives it, and takes it
// back between two turns.
//
// User:  turn counter odd, thing read, used, counter even.
// Owner: thing gone, counter read: odd, it waits until the counter moves.
// Either the user sees that the thing is gone, or the owner sees that a turn has begun.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace tributary::dataplane {

template <typename T>
class Lent {
 public:
  // User. Begins a turn; nullptr: there is nothing, and no turn.
  T* begin() {
    turns_.exchange(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
    T* const thing = thing_.load(std::memory_order_seq_cst);
    if (thing == nullptr) end();
    return thing;
  }
  void end() {
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  // User. Returns false where there is nothing; `turn` is called with the thing otherwise.
  template <typename F>
  bool use(F&& turn) {
    T* const thing = begin();
    if (thing == nullptr) return false;
    turn(*thing);
    end();
    return true;
  }

  // Owner. The thing must live until take_back() has returned.
  void lend(T& thing) { thing_.store(&thing, std::memory_order_seq_cst); }
  void take_back() {
    thing_.store(nullptr, std::memory_order_seq_cst);
    const std::uint32_t turn = turns_.load(std::memory_order_seq_cst);
    if (turn % 2 == 0) return;
    // As long as others have its CPU.
    while (turns_.load(std::memory_order_acquire) == turn)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
  }

 private:
  std::atomic<T*> thing_{nullptr};
  std::atomic<std::uint32_t> turns_{0};
};

}  // namespace tributary::dataplane
