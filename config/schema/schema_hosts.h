// Keys about completion hosts, for a switch and for a job (T10, T11).
#pragma once

#include "config/model/switch_config.h"
#include "config/text/field.h"

namespace tributary::config {

// The keys below `switch.completion`.
const Fields<CompletionConfig>& completion_fields();
// The values of `host_choice`.
Codec<HostChoice> host_choice();
// The keys below a job.
Fields<JobConfig> job_host_fields();

}  // namespace tributary::config
