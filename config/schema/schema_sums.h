// A job's keys about how and where its sums are made: part of job_schema().
#pragma once

#include "config/model/switch_config.h"
#include "config/text/field.h"

namespace tributary::config {

Fields<JobConfig> sum_fields();

}  // namespace tributary::config
