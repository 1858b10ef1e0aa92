// How a job lies on a topology: who is whose child, and where its results are final. Internal to
// topology.cc and the other topology_*.cc; indices are those of the Topology's lists.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "config/text/read_context.h"
#include "config/topology/topology.h"

namespace tributary::config {

// A switch and the port of it through which something is reached.
struct Hop {
  std::size_t node = 0;
  std::string port;
};

std::optional<std::size_t> find_switch(const Topology& topology, const std::string& name);
std::optional<std::size_t> find_server(const Topology& topology, const std::string& name);
std::optional<std::size_t> find_worker(const Topology& topology, const std::string& name);
// The switch itself where it aggregates, or the next one above that does; nullopt: none.
std::optional<Hop> aggregating(const Topology& topology, std::optional<Hop> from);
// The next aggregating switch above; nullopt: none.
std::optional<Hop> above(const Topology& topology, std::size_t node);

// Protocol rule 13: a parent waits longer than its children, by what their arrivals may differ.
// `base`: the job's own.
Duration deadline_above(Duration below, Duration base);

// A job's part of the tree. Requires a topology whose references have been checked.
class JobTree {
 public:
  JobTree(const Topology& topology, const TopologyJob& job);

  // Where results are final.
  [[nodiscard]] std::size_t top() const { return top_; }
  [[nodiscard]] bool takes_part(std::size_t node) const { return !ranks_[node].empty(); }
  // Complete, with children, parent and this node's deadline.
  [[nodiscard]] JobConfig config_at(std::size_t node) const;
  // The largest deadline among the switches right below; nullopt: there are none.
  [[nodiscard]] std::optional<Duration> deadline_below(std::size_t node) const;
  [[nodiscard]] Duration deadline_at(std::size_t node) const;
  // Ranks below a switch that takes part, ascending.
  [[nodiscard]] const std::vector<std::uint32_t>& ranks_at(std::size_t node) const {
    return ranks_[node];
  }
  // What the switches of the tree compute together, each one bracket: in the order of children.
  [[nodiscard]] Bracket expression() const { return expression_at(top_); }
  // A hash of who is whose child and of the declared order: the same on two switches that read the
  // same tree. Never 0.
  [[nodiscard]] std::uint32_t digest() const;

 private:
  [[nodiscard]] Bracket expression_at(std::size_t node) const;
  [[nodiscard]] std::vector<ChildConfig> children_of(std::size_t node) const;

  const Topology& topology_;
  const TopologyJob& job_;
  std::vector<std::optional<Hop>> places_;         // of each rank
  std::vector<std::vector<std::uint32_t>> ranks_;  // below each switch; none: not of this job
  std::size_t top_ = 0;                            // where results are final
};

// The part of a job's declared order that a switch with these children combines, over their
// indices; nullopt: it does not fit them.
std::optional<Bracket> order_over(const Bracket& declared,
                                  const std::vector<ChildConfig>& children);

// The member list, or what stands for it when the file has none.
std::vector<TopologyMember> members_of(const Topology& topology, const TopologyJob& job);

// The servers, switches and workers that jobs with their root at this switch name, and the way
// there.
std::vector<CompletionHost> hosts_at(const Topology& topology, std::size_t node);
// A worker as completion host: where nothing else has that name.
std::optional<std::size_t> find_host_worker(const Topology& topology, const std::string& name);
// That the hosts of a job are servers, switches that carry it, or workers with an address. Before
// and after it is known to be a tree.
void check_host_names(const Topology& topology, std::size_t job, ReadContext& context);
void check_host_switches(const Topology& topology, std::size_t job, ReadContext& context);
// Protocol rule on heartbeats: one that is lost must not be taken for a death.
std::optional<std::string> heartbeat_problem(const Topology& topology, const std::string& host,
                                             Duration heartbeat);
// What servers ask of the jobs that name them and of the switches in between.
void check_servers(const Topology& topology, ReadContext& context);

// Reports to `context`; skips what depends on values that could not be read. Node configurations
// are checked only if nothing else is wrong.
void check_topology(const Topology& topology, ReadContext& context);

}  // namespace tributary::config
