// Which jobs may have results that lack ranks (protocol rule 21), and after what wait.
#pragma once

#include <string>

#include "config/model/switch_config.h"
#include "config/text/read_context.h"

namespace tributary::config {

// `path`: of the job. Where only a switch's file says how long its lease is, `lease_known` is
// false.
void check_degraded(const JobConfig& job, const std::string& path, bool lease_known,
                    ReadContext& context);

}  // namespace tributary::config
