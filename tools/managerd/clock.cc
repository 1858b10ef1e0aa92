#include "tools/managerd/clock.h"

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "tools/daemon/daemon.h"

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

// Failures that are not the store's, such as want of memory, stop the turns, and so the watchdog.
void Clock::run() {
  std::string told;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kTurn, [this] { return stopping_; })) {
    lock.unlock();
    try {
      cluster_.advance(now());
      pods_.advance(now());
    } catch (const manager::StoreError&) {
      // The cluster has told it, and tries again.
    } catch (const std::exception& error) {
      if (std::exchange(told, error.what()) != error.what())
        tools::report_warning(std::string("leases do not end: ") + error.what());
      lock.lock();
      continue;
    }
    ++turns_;
    lock.lock();
  }
}

}  // namespace tributary::managerd
