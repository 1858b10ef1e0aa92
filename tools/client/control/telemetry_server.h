// Asks tributary-telemetryd for one of its pages.
#pragma once

#include <string>

#include "tools/client/control/table.h"

namespace tributary::client {

// `address` is IPV4:PORT, `page` such as "paths". Throws std::runtime_error with what went wrong.
Json ask_telemetry_server(const std::string& address, const std::string& page);
// Paths as a table, and below it the candidates of each with their figures.
std::string render_paths(const Json& paths);

}  // namespace tributary::client
