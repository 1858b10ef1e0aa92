// libtributary-manager, which knows gRPC: loaded when a process names a manager, and not before.
#pragma once

#include <string>

namespace tributary::worker {

// Call its `tributary_manager_wait` and `tributary_manager_call` (manager/api/helper.h) and return
// the reply. Any thread. Both throw std::runtime_error if the library is not there.
std::string ask_manager(const std::string& request);
std::string call_manager(const std::string& request);

}  // namespace tributary::worker
