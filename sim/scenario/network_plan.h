// A scenario's network: its switches and cables, where each worker hangs and which switch it sends
// to. Ports of a switch are numbered in the order in which its cables are plugged in: uplink,
// switches below, workers, a hostile host, parameter servers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "config/model/switch_config.h"
#include "config/server/server_config.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

struct NetworkPlan {
  struct Switch {
    std::string name;
    config::SwitchConfig config;
    std::optional<std::size_t> above;  // cabled to; always an earlier one
  };
  struct Place {
    std::size_t cabled_to = 0;
    std::size_t serving = 0;  // which switch aggregates for the worker
  };
  // After so many of the scenario's changes: what the switches that aggregate read, where each
  // worker is, and which switch is above each of them.
  struct Version {
    std::vector<config::SwitchConfig> configs;
    std::vector<std::size_t> homes;
    std::vector<std::optional<std::size_t>> above;
  };
  // A further cable of who moves, to a switch where it will be some time.
  struct Cable {
    bool of_switch = false;  // not of a worker
    std::size_t mover = 0;
    std::size_t to = 0;
  };

  struct Server {
    config::ServerConfig config;  // with the jobs that name it
    std::size_t cabled_to = 0;
  };

  std::vector<Switch> switches;  // those that aggregate come first
  std::size_t aggregators = 1;
  std::vector<Place> workers;     // over all jobs
  std::vector<Version> versions;  // of a tree that changes: the first is where it begins
  std::vector<Cable> cables;      // connected last, in this order
  std::vector<Server> servers;
  std::size_t attacked = 0;  // the switch on which the hostile host hangs
};

NetworkPlan plan_network(const Scenario& scenario);
// Plans a fat tree as config/topology/topology.h would derive it, in time that grows with the
// workers only.
NetworkPlan plan_fat_tree(const Scenario& scenario);
// Common settings of every aggregating switch of a tree, and of every job on every switch.
config::SwitchConfig tree_switch_config(const Scenario& scenario, std::size_t place);
config::JobConfig job_config(const JobScenario& job);
// Plugs in a cable; the port's name.
std::string add_port(config::SwitchConfig& config, const Scenario& scenario);
// The switch of each worker.
std::vector<std::size_t> homes_of(const std::vector<TreeSwitch>& tree, std::uint32_t workers);
// The order and brackets in which the plan's switches combine the data of job `id`. In a tree where
// no bracketing is declared: by rank, each switch one bracket. On a single switch: as declared.
config::Bracket expression_of(const NetworkPlan& plan, std::uint32_t id);
// The same plan, as the tree is after so many changes.
NetworkPlan plan_of_version(const NetworkPlan& plan, std::size_t version);

inline std::uint32_t worker_count(const Scenario& scenario) {
  std::uint32_t n = 0;
  for (const JobScenario& job : scenario.jobs) n += job.workers;
  return n;
}

}  // namespace tributary::sim
