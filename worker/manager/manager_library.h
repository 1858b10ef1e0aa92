// libtributary-manager, which knows gRPC: loaded when a process names a manager, and not before.
#pragma once

#include <string>

namespace tributary::worker {

// Calls its `tributary_manager_wait` (manager/api/helper.h) and returns the reply. Any thread.
// Throws std::runtime_error if the library is not there.
std::string ask_manager(const std::string& request);

}  // namespace tributary::worker
