// Keys about completion hosts: of a switch, and of a job (T10, T11).
#pragma once

#include "config/model/switch_config.h"
#include "config/text/field.h"

namespace tributary::config {

// Below `switch.completion`.
const Fields<CompletionConfig>& completion_fields();
// The words of `host_choice`.
Codec<HostChoice> host_choice();
// Of a job.
Fields<JobConfig> job_host_fields();

}  // namespace tributary::config
