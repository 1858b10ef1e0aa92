// The queue to which a port's device should give packets of a job: that of the lcore that owns the
// job. A preference: an lcore that gets a packet finds the owner itself (protocol rule 16).
//
//   UDP port ─▶ the jobs that use it ─▶ their lcores ─▶ one: its queue of this port
//                                                   └─▶ several, or it has no queue: no wish
//
// Devices do not see the job in any header; they do see its UDP ports.
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

// The requests to the device of one port.
struct SteeringPlan {
  std::uint32_t ipv4 = 0;  // of the switch
  std::vector<SteeringWish> wishes;

  bool operator==(const SteeringPlan&) const = default;
};

// True if packets of the job may come in through the port.
bool uses_port(const SwitchConfig& config, const JobConfig& job, const PortConfig& port);

// The plan of the port at this place, by UDP port; no wishes if it has one pair of queues.
SteeringPlan steering_plan(const SwitchConfig& config, std::size_t port);

}  // namespace tributary::config
