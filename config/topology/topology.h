// A tree of switches, the workers on it and the jobs they run: one file for all of them, from
// which each switch derives its own configuration (requirement T1).
//
//   Topology ──node_config("S201")──▶ SwitchConfig with, for each job that reaches S201, its
//                                     children in the order of their lowest rank, and its parent
//          ──server_config("ps1")───▶ ServerConfig with the jobs that name ps1, and their roots
//
// A job is summed by the switches between its workers and the lowest switch above all of them: a
// job whose workers share a switch goes no further up (A1). A switch that does not aggregate only
// forwards: for jobs, its workers count as attached to the next aggregating switch above (O12).
//
// A Topology from here needs no further checking: it is one tree, every name resolves, every rank
// is attached, and every node's configuration is valid by config/check/check.h.
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

// A way to a switch above, beside the one in use.
struct TopologyUplink {
  std::string parent;
  std::string parent_port;
  std::string uplink;
};

struct TopologySwitch {
  SwitchConfig config;  // without jobs
  std::string parent;   // name of the switch above; empty: the root
  std::string parent_port;
  std::string uplink;
  // Ways that are declared and not in use. Reading exchanges the file's way for the one that
  // `active_uplink` names.
  std::vector<TopologyUplink> other_uplinks;
  std::string active_uplink;  // empty: `uplink`
  std::uint32_t uplink_cost = 1;
  bool aggregate = true;
  std::optional<Duration> deadline;
};

struct TopologyWorker {
  std::string name;
  std::string attached_to;  // a switch
  std::string port;         // of that switch
  std::optional<std::uint32_t> ipv4;
  std::string node = {};  // whose containers lease the port, one at a time; empty: none
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
// Each throws ConfigErrors. `file_name` is the name of the text in error messages.
Topology load_topology(const std::string& path);
Topology parse_topology(std::string_view text, const std::string& file_name);
Topology read_topology(const Node& root, const std::string& file_name);
// Canonical YAML; parses back to the same.
std::string dump(const Topology& topology);

// The configuration of the switch called `name`. If there is none, throws std::invalid_argument
// that names all switches.
SwitchConfig node_config(const Topology& topology, const std::string& name);
// The configuration of the parameter server called `name`. Throws like node_config().
ServerConfig server_config(const Topology& topology, const std::string& name);
// Ascending ranks in the usual short form: "0-2,5".
std::string ranks_text(const std::vector<std::uint32_t>& ranks);
// For the operator, one line a job: the places of its children's ranks and of its parent.
std::string describe_tree(const SwitchConfig& config);

const Fields<Topology>& topology_schema();
// Every key that a topology has beyond those of a single switch's file.
std::vector<KeyInfo> describe_topology_schema();

}  // namespace tributary::config
