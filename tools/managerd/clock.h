// Leases end, and jobs and pods start, as time passes: a thread that says so four times a second.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "manager/service/cluster.h"
#include "manager/service/pod_cluster.h"

namespace tributary::managerd {

Instant now();

class Clock {
 public:
  Clock(manager::Cluster& cluster, manager::PodCluster& pods);
  ~Clock();
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  [[nodiscard]] std::uint64_t turns() const { return turns_; }

 private:
  void run();

  manager::Cluster& cluster_;
  manager::PodCluster& pods_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::atomic<std::uint64_t> turns_{0};
  std::thread thread_;  // last: begins when all else is there
};

}  // namespace tributary::managerd
