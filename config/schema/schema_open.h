// Keys about jobs that ranks open (A4).
#pragma once

#include "config/model/open_jobs.h"
#include "config/text/field.h"

namespace tributary::config {

// The keys below `switch.open_jobs`.
const Fields<OpenJobsConfig>& open_jobs_fields();

}  // namespace tributary::config
