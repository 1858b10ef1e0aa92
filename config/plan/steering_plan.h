// To which queue of a port a device had best give packets of jobs: that of the lcore which owns the
// job. A wish: whoever gets a packet looks for its owner himself (protocol rule 16).
//
//   UDP port ─▶ the jobs that use it ─▶ their lcores ─▶ one: its queue of this port
//                                                   └─▶ several, or it has no queue: no wish
//
// The job is in no header that a device looks at; its UDP ports are.
#pragma once

#include <cstdint>
#include <vector>

#include "config/model/switch_config.h"
#include "config/plan/lcore_plan.h"

namespace tributary::config {

struct SteeringWish {
  std::uint16_t udp_port = 0;  // of the switch, where packets go
  std::uint16_t queue = 0;     // of the port

  bool operator==(const SteeringWish&) const = default;
};

// What one port is asked for.
struct SteeringPlan {
  std::uint32_t ipv4 = 0;  // of the switch
  std::vector<SteeringWish> wishes;

  bool operator==(const SteeringPlan&) const = default;
};

// Whether packets of the job may come in through the port.
bool uses_port(const SwitchConfig& config, const JobConfig& job, const PortConfig& port);

// Of a port, by its place; no wishes where it has one pair of queues. By UDP port.
SteeringPlan steering_plan(const SwitchConfig& config, std::size_t port);

}  // namespace tributary::config
