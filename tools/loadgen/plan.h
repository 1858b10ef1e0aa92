// The workers to play, and their ports: derived from the switch's own configuration.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/model/switch_config.h"

namespace tributary::loadgen {

// The client's end of a memif port.
struct MemifEnd {
  std::string socket;
  std::uint32_t id = 0;
  std::size_t frames = 0;  // of its rings
};

struct PlannedPort {
  std::string name;               // the switch's port that it is connected to
  std::string devargs;            // of this end
  std::optional<MemifEnd> memif;  // of this end, where it needs no DPDK driver
};

struct PlannedWorker {
  std::size_t job = 0;  // in Plan::jobs
  std::uint32_t rank = 0;
  std::size_t port = 0;  // in Plan::ports
  std::uint32_t ipv4 = 0;
};

struct Plan {
  config::SwitchConfig config;
  std::vector<config::JobConfig> jobs;  // those that are played; a plane is like a job
  std::vector<PlannedPort> ports;       // all of the switch, in its order
  std::vector<PlannedWorker> workers;   // by job, then rank
};

// The other end of a port of the switch: a memif's client, vhost-user's virtio-user. Throws
// std::invalid_argument where none follows from the switch's devargs.
std::string far_end(const config::PortConfig& port);

// The same without DPDK's driver: nullopt where the port is no memif, or asks for what a worker's
// library does not do.
std::optional<MemifEnd> memif_end(const config::PortConfig& port);

// `jobs`: ids; none: all. `ends`: devargs by port name, for those that are not to be derived.
// Throws std::invalid_argument. A rank is behind the port that `members` ties it to, otherwise the
// ranks of a job take the ports in turn.
Plan make_plan(const config::SwitchConfig& config, const std::vector<std::uint32_t>& jobs,
               const std::map<std::string, std::string>& ends);

// Contributions a second of a place in `jobs`: its part of its own job's rate, by id, or of the
// rate of all; 0: as many as possible. Throws std::invalid_argument where a job with a rate is not
// played.
double rate_of(const Plan& plan, std::size_t job, std::uint64_t of_all,
               const std::map<std::uint32_t, std::uint64_t>& own);

// Places in `ports` of those with these names; none: of all. Throws std::invalid_argument.
std::vector<std::size_t> places_of(const Plan& plan, const std::vector<std::string>& names);

}  // namespace tributary::loadgen
