// Applies the jobs' straggler policies: looks at the lateness of each op that is over, and has the
// packet loop exclude children or take them back (T12, T13). A thread of its own, which asks the
// loop for a short answer a few times a second; none where no job has a policy.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/stragglers/straggler_history.h"
#include "dataplane/host/periodic_thread.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

// The loop's figures for the job at a place now: the ops from `from` on, and which children are
// excluded. Empty while the loop has another job there, before or after a change of the
// configuration.
struct StragglerReport {
  std::uint16_t epoch = 0;
  std::vector<aggregator::OpLateness> ops;
  std::vector<bool> excluded;  // by child
};
StragglerReport ask_about(const dataplane::PacketLoop& packet_loop, Instant now, std::size_t place,
                          const config::JobConfig& job, std::uint32_t from);

class StragglerWatch {
 public:
  // Watches the jobs in the switch's configuration, which some loop may be late for. `report` gets
  // a line for each child that is excluded or taken back; on the watch's thread.
  StragglerWatch(dataplane::Switch& sw, std::function<void(const std::string&)> report);

 private:
  struct Job {
    static std::shared_ptr<const config::JobConfig> of_plane(config::JobConfig job,
                                                             std::uint8_t plane) {
      job.plane = plane;
      return std::make_shared<const config::JobConfig>(std::move(job));
    }
    Job(const config::JobConfig& job_config, std::uint8_t plane, dataplane::PacketLoop& owner,
        std::size_t index)
        : config(of_plane(job_config, plane)),
          packet_loop(&owner),
          place(index),
          history(config->stragglers, config::job_fan_in(*config)) {}
    // The engine's own may be exchanged under its hands. Shared with what is asked of the loop,
    // which neither copies nor destroys one.
    std::shared_ptr<const config::JobConfig> config;
    dataplane::PacketLoop* packet_loop;
    std::size_t place;
    StragglerHistory history;
    std::uint16_t epoch = 0;
    std::uint32_t next_op = 0;  // the first that was not judged
  };

  void look_at_all();
  void look(Job& job);
  void change(Job& job, std::uint32_t child, bool exclude);

  std::function<void(const std::string&)> report_;
  std::vector<Job> jobs_;
  std::optional<dataplane::PeriodicThread> thread_;  // last: it uses the others
};

}  // namespace tributary::control
