// Derives from a manager's answers why a cluster or a job does not work.
#pragma once

#include "manager/api/client.h"
#include "tools/client/control/table.h"
#include "tools/client/doctor/finding.h"

namespace tributary::client {

// Asks the manager; an unreachable one is a finding, too.
Findings look_at_manager(const manager::Target& target);
// `files`: what certificates_of() returns (manager_library.h).
Findings judge_certificates(const Json& files);
// `topology`: a TopologyReply of manager.proto as JSON.
Findings judge_cluster(const Json& topology);
// `jobs`: the list of a ListReply.
Findings judge_cluster_jobs(const Json& jobs);

}  // namespace tributary::client
