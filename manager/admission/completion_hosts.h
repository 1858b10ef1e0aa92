// Completion hosts of a manager's jobs: the root alone. A switch takes up and drops a job with
// others at its start only, so a running one would refuse the job for good.
#pragma once

#include <string>

#include "manager/admission/job_request.h"

namespace tributary::manager {

// Why no job of a manager can have the completion hosts that the request names; empty: it can.
inline std::string hosts_elsewhere(const JobRequest& request) {
  for (const std::string& host : request.job.config.completion_hosts)
    if (host != config::kRootHost)
      return "job.completion_hosts: names '" + host +
             "', and switches take up such a job at their start alone; allowed: root, or a job of "
             "the switches' own file";
  return "";
}

}  // namespace tributary::manager
