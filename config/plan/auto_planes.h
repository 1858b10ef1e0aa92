// Chooses the number of a job's planes where its file leaves that open: `planes: auto`, or no such
// key. A plane for each lcore, so that a job gets all of a switch without being told its size.
//
// The choice follows from the job's own keys and from the lcores alone: jobs that come and go
// beside it never change it, and with it the job's epoch. It is made once, when a file is read;
// afterwards JobConfig::planes is a number as if the file had said it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/model/switch_config.h"
#include "config/text/yaml_tree.h"

namespace tributary::config {

inline constexpr std::uint8_t kAutoPlanes = 0;  // in JobConfig::planes until settle_planes()

// 1 to kMaxPlanes. As many as `lcores`, or as jobs[].lcores lists; fewer where shards take the UDP
// ports; 1 where the job is tied to one lcore (`lcore`, dynamic slots), has ranks on RDMA or is
// finished elsewhere than on its root, which exclude more (config/check/check_lcores.h).
std::uint8_t auto_planes(const JobConfig& job, std::size_t lcores);

// Chooses for those of `jobs` that leave it open: `planes` is kAutoPlanes, or the key is missing in
// `owner`, the mapping whose list `jobs` they were read from, in this order.
void settle_planes(const Node& owner, const std::vector<JobConfig*>& jobs, std::size_t lcores);

}  // namespace tributary::config
