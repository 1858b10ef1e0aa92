// The nodes of a world, as its scenario makes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/network/node_clock.h"
#include "sim/node/server_node.h"
#include "sim/node/switch_node.h"
#include "sim/node/worker_node.h"
#include "sim/scenario/network_plan.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

// Independent streams of random numbers from one seed.
enum Purpose : std::uint64_t {
  kClock = 1,
  kCable,
  kWorker,
  kSwitch,
  kHostile,
  kWorkload,
  kServer,
  kChange,
  kHeld,
};
std::uint64_t seed_of(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index);

// Workers have clocks from 0 on.
inline constexpr std::uint64_t kSwitchClocks = 1000;
NodeClock clock_of(const Scenario& scenario, std::uint64_t index);

inline constexpr std::uint64_t kServerClocks = 3000;

SwitchOptions switch_options(const Scenario& scenario, const NetworkPlan& plan, std::size_t index);
// `number`: of the worker, over all jobs.
WorkerOptions worker_options(const Scenario& scenario, const NetworkPlan& plan,
                             std::uint32_t job_index, std::uint32_t rank, std::uint32_t number);
// Where whole numbers are updated they stay whole: a step is the parameters less the sum.
ServerOptions server_options(const Scenario& scenario, const NetworkPlan& plan, std::size_t index);

}  // namespace tributary::sim
