// A request for a job, as `tributary job submit FILE` sends it:
//
//   tenant: vision
//   priority: 5          # higher first; default 0
//   lease: 30s           # silence of all its members that frees the job; left out: none
//   policy: manager      # who carries out `stragglers:`; default: switch, each for itself
//   job:                 # the keys of a topology's job (docs/configuration/trees.md),
//   without `id`
//     name: resnet
//     workers: 12
//
// Without `members` the manager chooses the workers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/topology/topology.h"

namespace tributary::manager {

enum class PolicyOwner : std::uint8_t { by_switch, manager };

struct JobRequest {
  std::string tenant;
  std::uint32_t priority = 0;
  std::optional<Duration> lease;
  PolicyOwner policy = PolicyOwner::by_switch;
  config::TopologyJob job;  // id 0
};

// Throws config::ConfigErrors. `file_name` is only what errors call the text.
JobRequest parse_job_request(std::string_view text, const std::string& file_name);
// Canonical YAML; parses back to the same.
std::string dump(const JobRequest& request);

}  // namespace tributary::manager
