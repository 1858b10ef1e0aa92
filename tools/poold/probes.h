// Probes of a node (control/http/probes.h):
//
//   /healthz  503 while the node accepts no connections, or does not let go of its records
//   /readyz   the same, and while the node is being filled
#pragma once

#include <cstdint>
#include <functional>

#include "control/http/probes.h"
#include "core/time.h"
#include "tools/poold/node_server.h"

namespace tributary::poold {

// Returns true once `turns` has changed, and false if it has not within the limit.
bool goes_on(const std::function<std::uint64_t()>& turns, Duration limit);

// `server` outlives the pages.
control::HttpServer::Pages probe_pages(const NodeServer& server);

}  // namespace tributary::poold
