#include "tools/managerd/clock.h"

#include <chrono>

namespace tributary::managerd {
namespace {

constexpr std::chrono::milliseconds kTurn{250};

}  // namespace

Instant now() {
  return Instant::from_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(
                              std::chrono::steady_clock::now().time_since_epoch())
                              .count());
}

Clock::Clock(manager::Cluster& cluster, manager::PodCluster& pods)
    : cluster_(cluster), pods_(pods), thread_([this] { run(); }) {}

Clock::~Clock() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Clock::run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kTurn, [this] { return stopping_; })) {
    lock.unlock();
    try {
      cluster_.advance(now());
      pods_.advance(now());
    } catch (const manager::StoreError&) {
      // The cluster has told it, and tries again.
    }
    ++turns_;
    lock.lock();
  }
}

}  // namespace tributary::managerd
