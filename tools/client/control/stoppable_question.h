// A question to a running tributary-switchd that a daemon can end, as when it is to end itself.
#pragma once

#include <string>

#include "tools/client/control/control_client.h"

namespace tributary::client {

// ask_switch(), which also throws ControlError once the descriptor `stop` can be read.
Json ask_switch_until(int stop, const std::string& socket_path, const Json& request,
                      Duration timeout);

}  // namespace tributary::client
