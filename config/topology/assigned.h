// The document that a manager assigns to a switch, beside the switch's own file:
//
//   term: 3            # of the manager
//   revision: 17       # of the document; within a term, the larger one is newer
//   node: S201         # whom of the topology it is for
//   topology: ...      # as a file of docs/configuration/trees.md, with the jobs
//
// Keys are disjoint: jobs, and the completion hosts that they name, are the assigned document's;
// ports, memory, addresses and all else are the file's. A file with jobs of its own and an assigned
// document exclude each other.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/topology/topology.h"

namespace tributary::config {

// Later terms first, then later revisions.
struct Version {
  std::uint64_t term = 0;
  std::uint64_t revision = 0;

  auto operator<=>(const Version&) const = default;
};

struct Assigned {
  Version version;
  std::string node;
  Topology topology;
  std::string text;  // as it was read
};

// Throws ConfigErrors. `file_name` is only what errors call the text.
Assigned parse_assigned(std::string_view text, const std::string& file_name);
// Canonical YAML; parses back to the same.
std::string dump_assigned(const Version& version, const std::string& node,
                          const Topology& topology);

// What the switch is told by both. Throws std::invalid_argument when they contradict each other,
// ConfigErrors when the switch cannot do what both ask.
SwitchConfig merged(SwitchConfig local, const Assigned& assigned);
// Whether `set` may not change it: "jobs.1.deadline".
bool is_assigned_key(std::string_view path);

}  // namespace tributary::config
