// Maps a job to a topology: its children at each switch, and its root. Internal to topology.cc and
// the other topology_*.cc; indices are those of the Topology's lists.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "config/text/read_context.h"
#include "config/topology/topology.h"

namespace tributary::config {

// A switch and its port through which something is reached.
struct Hop {
  std::size_t node = 0;
  std::string port;
};

std::optional<std::size_t> find_switch(const Topology& topology, const std::string& name);
std::optional<std::size_t> find_server(const Topology& topology, const std::string& name);
std::optional<std::size_t> find_worker(const Topology& topology, const std::string& name);
// The switch itself if it aggregates, or the next one above that does; nullopt if there is none.
std::optional<Hop> aggregating(const Topology& topology, std::optional<Hop> from);
// The next aggregating switch above; nullopt if there is none.
std::optional<Hop> above(const Topology& topology, std::size_t node);

// Chooses the number of planes of jobs that leave it open: a plane for each lcore of the switch
// that has fewest, since every switch that sums a job has all its planes, and a job may be moved to
// any. `file` is the mapping that the topology was read from.
void settle_planes(const Node& file, Topology& topology);
// Checks that every declared way up is one, and that the active one is declared; then puts the
// active way of each switch in the place of the one that the file says first.
void use_active_uplinks(Topology& topology, ReadContext& context);
// Ports of the switch that are ends of ways up which are not in use, be they its own or those of
// switches below.
std::vector<std::string> standby_ports(const Topology& topology, std::size_t node);

// Whether a port of some switch has pinned paths.
bool has_paths(const Topology& topology);
// Checks that no pinned path makes a loop. Requires one tree, whose names resolve.
void check_paths(const Topology& topology, ReadContext& context);

// Protocol rule 13: a parent waits longer than its children, by how much their arrivals may differ.
// `base` is the job's own deadline.
Duration deadline_above(Duration below, Duration base);

// A job's part of the tree. Requires a topology whose references have been checked.
class JobTree {
 public:
  JobTree(const Topology& topology, const TopologyJob& job);

  // The job's root.
  [[nodiscard]] std::size_t top() const { return top_; }
  [[nodiscard]] bool takes_part(std::size_t node) const { return !ranks_[node].empty(); }
  // The job's complete configuration, with children, parent and this node's deadline.
  [[nodiscard]] JobConfig config_at(std::size_t node) const;
  // The largest deadline among the switches directly below; nullopt if there are none.
  [[nodiscard]] std::optional<Duration> deadline_below(std::size_t node) const;
  [[nodiscard]] Duration deadline_at(std::size_t node) const;
  // Ranks below a switch that takes part, ascending.
  [[nodiscard]] const std::vector<std::uint32_t>& ranks_at(std::size_t node) const {
    return ranks_[node];
  }
  // The expression that the switches compute together, a bracket each, in the children's order.
  [[nodiscard]] Bracket expression() const { return expression_at(top_); }
  // A hash of the job's tree and of the declared order: equal on two switches that read the same
  // tree. Never 0.
  [[nodiscard]] std::uint32_t digest() const;

 private:
  [[nodiscard]] Bracket expression_at(std::size_t node) const;
  [[nodiscard]] std::vector<ChildConfig> children_of(std::size_t node) const;

  const Topology& topology_;
  const TopologyJob& job_;
  std::vector<std::optional<Hop>> places_;         // of each rank
  std::vector<std::vector<std::uint32_t>> ranks_;  // below each switch; none: it is not in this job
  std::size_t top_ = 0;                            // the root
};

// The part of a job's declared order that a switch with these children combines, over child
// indices; nullopt if the order does not fit them.
std::optional<Bracket> order_over(const Bracket& declared,
                                  const std::vector<ChildConfig>& children);

// The address of another switch in frames that `from` gets from it. Frames that a router passes on
// have that one's: zero.
wire::MacAddress mac_from(const SwitchConfig& from, const SwitchConfig& other);

// The member list, or its default if the file has none.
std::vector<TopologyMember> members_of(const Topology& topology, const TopologyJob& job);

// The servers, switches and workers that jobs with their root at this switch name, and the way to
// them.
std::vector<CompletionHost> hosts_at(const Topology& topology, std::size_t node);
// A worker as completion host: only if no other node has that name.
std::optional<std::size_t> find_host_worker(const Topology& topology, const std::string& name);
// Check that the hosts of a job are servers, switches that carry it, or workers with an address;
// the first before, the second after the switches are known to be a tree.
void check_host_names(const Topology& topology, std::size_t job, ReadContext& context);
void check_host_switches(const Topology& topology, std::size_t job, ReadContext& context);
// Protocol rule on heartbeats: a single lost one must not count as a failure.
std::optional<std::string> heartbeat_problem(const Topology& topology, const std::string& host,
                                             Duration heartbeat);
// Checks what servers require of the jobs that name them and of the switches in between.
void check_servers(const Topology& topology, ReadContext& context);

// Reports to `context`; skips checks of values that could not be read. Checks node configurations
// only if nothing else is wrong.
void check_topology(const Topology& topology, ReadContext& context);

}  // namespace tributary::config
