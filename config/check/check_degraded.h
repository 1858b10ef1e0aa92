// Checks which jobs may have results that lack ranks (protocol rule 21), and after what wait.
#pragma once

#include <string>

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

// `path` is the job's. `lease_known` is false if only a switch's file gives the length of its
// lease.
void check_degraded(const JobConfig& job, const std::string& path, bool lease_known,
                    ReadContext& context);

}  // namespace tributary::config
