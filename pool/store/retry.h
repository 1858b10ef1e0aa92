// The one retry policy of requests to stores: those of a listing, of a shard's headers and of
// records.
//
//   request ─▶ passing error ─▶ wait, doubled each time ─▶ request ... ─▶ "(after N tries)"
//           └▶ any other error: at once
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "pool/record/backoff.h"
#include "pool/store/store_error.h"

namespace tributary::pool {

// Shared by readers that stop together.
class StopFlag {
 public:
  void set();
  [[nodiscard]] bool is_set() const { return set_.load(std::memory_order_acquire); }
  // Returns false if it was set before the time was over.
  bool wait(Duration time);

 private:
  std::atomic<bool> set_{false};  // pairs set() with every reader's check
  std::mutex mutex_;
  std::condition_variable changed_;
};

struct ReaderCounters {
  std::atomic<std::uint64_t> requests{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> retries{0};
  std::atomic<std::uint64_t> failures{0};  // requests given up
};

class Retry {
 public:
  // A single try.
  Retry() : Retry(BackoffLimits{{}, {}, 0}) {}
  // Both pointers may be null; otherwise they outlive this.
  explicit Retry(const BackoffLimits& limits, StopFlag* stop = nullptr,
                 ReaderCounters* counters = nullptr)
      : limits_(limits), stop_(stop), counters_(counters) {}

  // Returns what `request` returns. Throws StoreError: the error after the last try, or
  // `unavailable` that names `what` when stopped. `seed`: of the waits.
  template <typename Request>
  auto run(const std::string& what, std::uint64_t seed, const Request& request) const {
    Backoff backoff(limits_, seed);
    for (;;) {
      begin(what);
      try {
        return request();
      } catch (const StoreError& error) {
        decide(error, backoff);
      }
      wait(backoff.delay());
    }
  }

 private:
  void begin(const std::string& what) const;
  // Throws if the error lasts, or was the last try's.
  void decide(const StoreError& error, Backoff& backoff) const;
  void wait(Duration time) const;

  BackoffLimits limits_;
  StopFlag* stop_;
  ReaderCounters* counters_;
};

}  // namespace tributary::pool
