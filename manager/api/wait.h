// Waits until a job runs: each of its ranks does, whichever submits the job (T20).
#pragma once

#include <string>

#include "manager/api/client.h"

namespace tributary::manager {

struct Wanted {
  std::string job;             // its name
  std::string request = {};    // YAML to submit, unless another rank has; empty: others do
  std::string file_name = {};  // what errors call it
};

// The job as JSON (message Job of manager.proto), once each of its switches has it. A job that
// is not there yet is waited for, too. Throws ManagerError; DEADLINE_EXCEEDED: not in time.
std::string wait_until_running(Client& client, const Wanted& wanted, Duration timeout);

}  // namespace tributary::manager
