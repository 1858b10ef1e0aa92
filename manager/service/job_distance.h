// Hops in the tree between each switch and the nearest one that aggregates a job.
#pragma once

#include "manager/admission/admission.h"
#include "manager/pods/scheduler.h"

namespace tributary::manager {

Distances job_distances(const Admission& admission);

}  // namespace tributary::manager
