// Requests of control threads to the packet loop: bounded, answered, with a timeout.
//
// Any control thread calls ask(); the loop calls drain() once per turn. A request is a function
// that runs on the loop's lcore between packets, where it may touch the loop's state; its value
// comes back to the asker. A request whose asker gave up still runs, so it must own what it
// captures.
//
//   ask, post      while fewer than kCapacity requests wait
//   post_assured   a few more, for who has begun what cannot be left half done
//
// All run in the order in which they came.
#pragma once

#include <bit>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <type_traits>

#include "core/spsc_ring.h"
#include "core/time.h"

namespace tributary::dataplane {

class Mailbox {
 public:
  static constexpr std::size_t kCapacity = 16;
  static constexpr std::size_t kAssured = 4;
  static constexpr std::size_t kPerTurn = 2;

  // Throws std::runtime_error when the loop does not answer in time.
  template <typename F>
  auto ask(F function, Duration timeout) -> std::invoke_result_t<F, Instant> {
    auto answer = post(std::move(function));
    if (answer.wait_for(std::chrono::nanoseconds(timeout.to_ns())) != std::future_status::ready)
      throw std::runtime_error("the packet loop did not answer in time");
    return answer.get();
  }

  // The same for one who waits for several loops at once. Throws std::runtime_error when there are
  // too many requests.
  template <typename F>
  auto post(F function) -> std::future<std::invoke_result_t<F, Instant>> {
    auto answer = put(std::move(function), kCapacity);
    if (!answer.valid()) throw std::runtime_error("the packet loop has too many requests waiting");
    return answer;
  }

  // The same, however many requests of others wait. For one user of it, who sees to it that no more
  // than kAssured of its own do.
  template <typename F>
  auto post_assured(F function) -> std::future<std::invoke_result_t<F, Instant>> {
    auto answer = put(std::move(function), kCapacity + kAssured);
    if (!answer.valid())
      throw std::logic_error("mailbox: more requests than are assured of their places");
    return answer;
  }

  // Loop only: runs a few waiting requests; returns how many.
  std::size_t drain(Instant now) {
    std::size_t done = 0;
    std::function<void(Instant)> request;
    while (done < kPerTurn && ring_.pop(request)) {
      request(now);
      request = nullptr;  // what it owns goes here, not at the next request
      ++done;
    }
    return done;
  }

 private:
  // No answer: `most` wait already.
  template <typename F>
  auto put(F function, std::size_t most) -> std::future<std::invoke_result_t<F, Instant>> {
    using Value = std::invoke_result_t<F, Instant>;
    auto task = std::make_shared<std::packaged_task<Value(Instant)>>(std::move(function));
    auto answer = task->get_future();
    // The ring has one producer: the holder of this lock.
    const std::lock_guard lock(producers_);
    if (ring_.size() >= most) return {};
    ring_.push([task](Instant now) { (*task)(now); });
    return answer;
  }

  std::mutex producers_;
  SpscRing<std::function<void(Instant)>> ring_{std::bit_ceil(kCapacity + kAssured)};
};

}  // namespace tributary::dataplane
