// Applies the jobs' straggler policies: looks at the lateness of each op that is over, and has the
// packet loop exclude children or take them back (T12, T13). A thread of its own, which asks the
// loop for a short answer a few times a second; none where no job has a policy.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "control/straggler_history.h"
#include "dataplane/switch.h"

namespace tributary::control {

class StragglerWatch {
 public:
  // `report` gets a line for each child that is excluded or taken back; on the watch's thread.
  StragglerWatch(dataplane::Switch& sw, std::function<void(const std::string&)> report);
  ~StragglerWatch();
  StragglerWatch(const StragglerWatch&) = delete;
  StragglerWatch& operator=(const StragglerWatch&) = delete;

 private:
  struct Job {
    Job(const config::JobConfig& job_config, const dataplane::PlacedJob& placed)
        : config(job_config),
          place(placed),
          history(config.stragglers, config::job_fan_in(config)) {}
    config::JobConfig config;  // the engine's own may be exchanged under its hands
    dataplane::PlacedJob place;
    StragglerHistory history;
    std::uint16_t epoch = 0;
    std::uint32_t next_op = 0;  // the first that was not judged
  };

  void run();
  void look(Job& job);
  void change(Job& job, std::uint32_t child, bool exclude);

  std::function<void(const std::string&)> report_;
  std::vector<Job> jobs_;
  std::mutex mutex_;
  std::condition_variable stop_now_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tributary::control
