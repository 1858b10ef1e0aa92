// Reports of the agents of switches, and the phases of jobs that follow from them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/topology/assigned.h"
#include "manager/admission/admission.h"
#include "manager/policy/hosts.h"
#include "manager/policy/stragglers.h"
#include "manager/topology/cabling.h"

namespace tributary::manager {

struct SwitchReport {
  config::Version applied;
  std::map<std::uint32_t, std::uint32_t> jobs;  // id → ranks that are there
  std::string problem;
  bool refused = false;
  std::uint64_t refused_revision = 0;
  // nullopt: as in the report before.
  std::optional<std::vector<Lateness>> lateness;
  std::optional<std::vector<HostSeat>> seats;  // of the jobs whose root it is
  std::optional<std::uint64_t> load;           // bytes per second, in and out of its ports
  std::optional<std::vector<Neighbour>> neighbours;
};

struct SwitchState {
  std::uint64_t session = 0;  // of the agent that speaks for it; 0: none does
  std::string program;
  SwitchReport last;  // its agent's last report
  std::vector<std::string> wrong_cables;
};

enum class Phase : std::uint8_t { queued, starting, running };

Phase phase_of(const Job& job, const std::map<std::string, SwitchState>& switches);
// Switches of the job that do not have it yet.
std::vector<std::string> missing_switches(const Job& job,
                                          const std::map<std::string, SwitchState>& switches);

}  // namespace tributary::manager
