// A tree of switches, the workers on it and the jobs they run: one file for all of them, from
// which each switch derives its own configuration (requirement T1).
//
//   Topology ──node_config("S201")──▶ SwitchConfig with, for each job that reaches S201, its
//                                     children in the order of their lowest rank, and its parent
//          ──server_config("ps1")───▶ ServerConfig with the jobs that name ps1, and their roots
//
// A job is summed by the switches between its workers and the lowest switch above all of them: a
// job whose workers share a switch goes no further up (A1). A switch that does not aggregate only
// forwards: what hangs on it hangs, for the jobs, on the next switch above that does (O12).
//
// A Topology that comes from here needs no further checking: it is one tree, every name resolves,
// every rank hangs somewhere, and every node's configuration is valid by config/check/check.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/model/switch_config.h"
#include "config/server/server_config.h"
#include "config/text/error.h"
#include "config/text/field.h"

namespace tributary::config {

struct TopologySwitch {
  SwitchConfig config;  // without jobs
  std::string parent;   // name of the switch above; empty: the root
  std::string parent_port;
  std::string uplink;
  std::uint32_t uplink_cost = 1;
  bool aggregate = true;
  std::optional<Duration> deadline;
};

struct TopologyWorker {
  std::string name;
  std::string attached_to;  // a switch
  std::string port;         // of that switch
  std::optional<std::uint32_t> ipv4;
};

// A parameter server (T10). Jobs name it in their `completion_hosts`.
struct TopologyServer {
  ServerConfig config;      // without jobs
  std::string attached_to;  // a switch
  std::string port;         // of that switch
  std::uint32_t cost = 1;   // of that link
};

struct TopologyMember {
  std::uint32_t rank = 0;
  std::string worker;
};

struct TopologyJob {
  JobConfig config;
  std::vector<TopologyMember> members;  // empty: rank r is the r-th worker
  OptimizerConfig optimizer;            // of kind none: the job has no model
};

struct Topology {
  std::vector<TopologySwitch> switches;
  std::vector<TopologyWorker> workers;
  std::vector<TopologyServer> servers;
  std::vector<TopologyJob> jobs;
};

// True when the text, which may be broken, looks like a topology rather than one switch's file.
bool is_topology(std::string_view text);
// Each throws ConfigErrors. `file_name` is only what errors call the text.
Topology load_topology(const std::string& path);
Topology parse_topology(std::string_view text, const std::string& file_name);
Topology read_topology(const Node& root, const std::string& file_name);
// Canonical YAML; parses back to the same.
std::string dump(const Topology& topology);

// What the switch called `name` is told. Throws std::invalid_argument that names all switches when
// there is none of that name.
SwitchConfig node_config(const Topology& topology, const std::string& name);
// What the parameter server called `name` is told. Throws as node_config().
ServerConfig server_config(const Topology& topology, const std::string& name);
// "0-2,5": ascending ranks as people write them.
std::string ranks_text(const std::vector<std::uint32_t>& ranks);
// Where each rank of the job's children and parent stand, one line a job, for people.
std::string describe_tree(const SwitchConfig& config);

const Fields<Topology>& topology_schema();
// Every key that a topology has beyond those of a single switch's file.
std::vector<KeyInfo> describe_topology_schema();

}  // namespace tributary::config
