// The fields of manifests: one table for each object, from which reading, writing and the hints for
// unknown fields follow.
#pragma once

#include "config/text/field.h"
#include "manager/pods/pod.h"

namespace tributary::manager {

inline constexpr std::size_t kMostContainers = 16;

// The top of a document: apiVersion, kind, metadata and spec.
const config::Fields<Pod>& pod_fields();
const config::Fields<PodGroup>& pod_group_fields();

}  // namespace tributary::manager
