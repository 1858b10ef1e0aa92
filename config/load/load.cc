// Reading, checking and writing configuration files.
#include "config/load/load.h"

#include "config/check/check.h"
#include "config/plan/aggregation_memory.h"
#include "config/plan/auto_planes.h"
#include "config/plan/lcore_plan.h"
#include "config/schema/schema.h"
#include "config/text/file.h"
#include "config/text/read_context.h"
#include "config/text/yaml_tree.h"

namespace tributary::config {
namespace {

void settle_planes(const Node& root, SwitchConfig& config) {
  std::vector<JobConfig*> jobs;
  for (JobConfig& job : config.jobs) jobs.push_back(&job);
  config::settle_planes(root, jobs, lcore_count(config));
}

}  // namespace

SwitchConfig load_switch_config(const std::string& path) {
  return parse_switch_config(read_file(path), path);
}

SwitchConfig parse_switch_config(std::string_view text, const std::string& file_name) {
  return read_switch_config(parse_text(text, file_name), file_name);
}

SwitchConfig read_switch_config(const Node& root, const std::string& file_name) {
  ReadContext context(file_name);
  SwitchConfig config;
  read_mapping(context, "", root, schema(), config);
  if (!config.memory.reserve_megabytes)
    config.memory.reserve_megabytes = default_reserve_megabytes(config.memory);
  for (auto& job : config.jobs)
    if (job.name.empty()) job.name = "job-" + std::to_string(job.id);
  settle_planes(root, config);
  check(config, context);
  if (!context.errors().empty()) throw ConfigErrors(context.errors());
  return config;
}

std::string dump(const SwitchConfig& config) {
  return write_fields(schema(), config, 0);
}

}  // namespace tributary::config
