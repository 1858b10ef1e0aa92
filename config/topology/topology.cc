// Reading and writing topologies.
#include "config/topology/topology.h"

#include "config/plan/aggregation_memory.h"
#include "config/text/file.h"
#include "config/topology/topology_tree.h"

namespace tributary::config {

bool is_topology(std::string_view text) {
  try {
    const Node root = parse_yaml(text);
    for (const auto& [key, value] : root.entries)
      if (key.text == "switches") return true;
  } catch (const YamlError&) {
    // The next reader of the text reports the error.
  }
  return false;
}

Topology load_topology(const std::string& path) {
  return parse_topology(read_file(path), path);
}

Topology parse_topology(std::string_view text, const std::string& file_name) {
  return read_topology(parse_text(text, file_name), file_name);
}

Topology read_topology(const Node& root, const std::string& file_name) {
  ReadContext context(file_name);
  Topology topology;
  read_mapping(context, "", root, topology_schema(), topology);
  for (auto& sw : topology.switches)
    if (!sw.config.memory.reserve_megabytes)
      sw.config.memory.reserve_megabytes = default_reserve_megabytes(sw.config.memory);
  for (auto& job : topology.jobs)
    if (job.config.name.empty()) job.config.name = "job-" + std::to_string(job.config.id);
  settle_planes(root, topology);
  use_active_uplinks(topology, context);
  check_topology(topology, context);
  if (!context.errors().empty()) throw ConfigErrors(context.errors());
  return topology;
}

std::string dump(const Topology& topology) {
  return write_fields(topology_schema(), topology, 0);
}

}  // namespace tributary::config
