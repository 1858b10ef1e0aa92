// Calls to a manager by libtributary-manager, which links gRPC. The library is loaded at the first
// call: other commands start without it.
#pragma once

#include <string>

#include "manager/api/client.h"
#include "manager/api/wait.h"
#include "tools/client/control/table.h"

namespace tributary::client {

// The time for a call, in which a manager that cannot be reached is tried again.
inline constexpr int kCallSeconds = 10;

// The reply of a method of manager.proto, "Jobs.Submit". `stop`: the call ends once this descriptor
// can be read; -1: none. Throws manager::ManagerError, std::invalid_argument for a target that
// makes no sense, and std::runtime_error.
Json call_manager(const manager::Target& target, const std::string& method, const Json& request,
                  double timeout_s = kCallSeconds, int stop = -1);

// A Job of manager.proto, once every switch has it. Throws as call_manager().
Json wait_until_running(const manager::Target& target, const manager::Wanted& wanted,
                        double timeout_s);

// How long the target's own certificate and its authority's are valid: a list as
// `tributary_manager_certificates` of manager/api/helper.h has it, empty without such files.
Json certificates_of(const manager::Target& target);

}  // namespace tributary::client
