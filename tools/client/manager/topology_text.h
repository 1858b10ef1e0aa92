// A cluster's switches and workers as a tree in text.
#pragma once

#include <string>

#include "tools/client/control/table.h"

namespace tributary::client {

// `topology`: the manager's reply, as JSON.
std::string topology_text(const Json& topology);

}  // namespace tributary::client
