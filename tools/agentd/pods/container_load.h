// How much CPU each container uses, and since when a pod has done nothing.
//
//   usage of CPU time, each turn ─▶ share of one CPU ─┐
//   load of the pod's devices ────────────────────────┴▶ below kIdleShare, all: the pod is idle
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "core/time.h"
#include "tools/agentd/pods/reconciler.h"

namespace tributary::agentd {

// CPU time that the control group of a process has used so far. nullopt: the process is gone, or
// its group is not accounted.
std::optional<Duration> cpu_time_of(int pid, const std::string& proc = "/proc",
                                    const std::string& groups = "/sys/fs/cgroup");

class ContainerLoad {
 public:
  // Below this share of one CPU, and of a device, nothing is done.
  static constexpr double kIdleShare = 0.01;
  using CpuTime = std::function<std::optional<Duration>(int pid)>;

  explicit ContainerLoad(CpuTime cpu_time = [](int pid) { return cpu_time_of(pid); })
      : cpu_time_(std::move(cpu_time)) {}

  // Share of one CPU since the call before for this container, above 1 for several; nullopt: not
  // known yet.
  std::optional<double> cpu(const std::string& id, int pid, Instant now);
  // How long the pod has been idle; zero while it is not. `load` is its greatest; nullopt counts as
  // busy.
  Duration idle(const std::string& instance, std::optional<double> load, Instant now);
  // Forgets what was not asked about since the call before.
  void end_turn();

 private:
  struct Usage {
    Duration time;
    Instant at;
    bool asked = true;
  };
  struct Idle {
    Instant since;
    bool asked = true;
  };

  const CpuTime cpu_time_;
  std::map<std::string, Usage> usage_;  // by container
  std::map<std::string, Idle> idle_;    // by instance
};

// Adds to a step's result what each container uses, and how long each pod has been idle.
// `devices`: load of the node's devices by name.
void measure(ContainerLoad& load, const Work& work, const std::map<std::string, double>& devices,
             Instant now, Reconciler::Result& result);

}  // namespace tributary::agentd
