// The keys of a job that say how its sums are made and where: part of job_schema().
#pragma once

#include "config/model/switch_config.h"
#include "config/text/field.h"

namespace tributary::config {

Fields<JobConfig> sum_fields();

}  // namespace tributary::config
