// Which manager a command asks, and as whom.
#pragma once

#include "manager/api/client.h"
#include "tools/cli/app.h"

namespace tributary::client {

struct ManagerOptions {
  manager::Target target;
  bool json = false;
};

// --manager, --tls-ca, --tls-cert, --tls-key, with variables of the environment beside them;
// --json.
void add_manager_options(cli::App& command, ManagerOptions& options);

}  // namespace tributary::client
