// Keys about named data, of a switch and of a job (C4).
#pragma once

#include "config/model/names.h"
#include "config/text/field.h"

namespace tributary::config {

// The keys below `switch.names`.
const Fields<NamesConfig>& names_fields();
// The keys below `jobs[].names`.
const Fields<JobNames>& job_names_fields();

}  // namespace tributary::config
