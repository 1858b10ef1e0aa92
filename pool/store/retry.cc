#include "pool/store/retry.h"

#include <chrono>
#include <thread>

namespace tributary::pool {

void StopFlag::set() {
  {
    const std::lock_guard lock(mutex_);
    set_.store(true, std::memory_order_release);
  }
  changed_.notify_all();
}

bool StopFlag::wait(Duration time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::nanoseconds(time.to_ns()),
                            [this] { return is_set(); });
}

void Retry::begin(const std::string& what) const {
  if (stop_ != nullptr && stop_->is_set())
    throw StoreError(StoreFault::unavailable, what + ": reading was stopped");
  if (counters_ != nullptr) counters_->requests.fetch_add(1, std::memory_order_relaxed);
}

void Retry::decide(const StoreError& error, Backoff& backoff) const {
  if (error.passing() && backoff.again()) {
    if (counters_ != nullptr) counters_->retries.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (counters_ != nullptr) counters_->failures.fetch_add(1, std::memory_order_relaxed);
  if (backoff.tries() == 0) throw error;
  throw StoreError(error.fault(), std::string(error.what()) + " (after " +
                                      std::to_string(backoff.tries() + 1) + " tries)");
}

void Retry::wait(Duration time) const {
  if (stop_ != nullptr)
    stop_->wait(time);
  else
    std::this_thread::sleep_for(std::chrono::nanoseconds(time.to_ns()));
}

}  // namespace tributary::pool
