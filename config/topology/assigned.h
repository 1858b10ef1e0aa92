// The document that a manager assigns to a switch, beside the switch's own file:
//
//   term: 3            # of the manager
//   revision: 17       # of the document; within a term, the larger one is newer
//   node: S201         # the node of the topology that it is for
//   topology: ...      # as a file of docs/configuration/trees.md, with the jobs
//
// The two files have different keys: jobs, the completion hosts that they name, and the way up that
// each switch uses are in the assigned document; ports, memory, addresses and all else are in the
// file. A file with jobs of its own cannot be combined with an assigned document.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/topology/document.h"
#include "config/topology/topology.h"

namespace tributary::config {

// Ordered by term, then by revision.
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
  // Port of the node to a switch below that moves between two links to it: open beside the one in
  // use. Empty: none.
  std::string open_port = {};
};

// Throws ConfigErrors. `file_name` is the name of the text in error messages.
Assigned parse_assigned(std::string_view text, const std::string& file_name);
// True for YAML with the four keys, right or wrong: no other file of a machine is such.
bool looks_assigned(std::string_view text);
// Canonical YAML; parses back to the same.
std::string dump_assigned(const Version& version, const std::string& node, const Topology& topology,
                          const std::string& open_port = "");
// The node's configuration by the document alone.
SwitchConfig told_config(const Assigned& assigned);

// The switch's configuration from both. Throws std::invalid_argument when they contradict each
// other, ConfigErrors when the switch cannot do what both ask.
SwitchConfig merged(const Document& local, const Assigned& assigned);
// The same for a file that has this switch alone, and so no ways up.
SwitchConfig merged(SwitchConfig local, const Assigned& assigned);
// True if `set` may not change the key: "jobs.1.deadline", "switches.R.active_uplink".
bool is_assigned_key(std::string_view path);

}  // namespace tributary::config
