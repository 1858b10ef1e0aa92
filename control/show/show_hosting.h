// Rows of `show` about who finishes chunks: as a root sees its hosts, and as a host sees its roots.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "completion/host/remote_hosts.h"
#include "completion/host/server.h"

namespace tributary::control {

nlohmann::ordered_json seat_row(const completion::SeatStatus& seat);
// For a server, or a switch that hosts; `seats` is its status().
nlohmann::ordered_json served_rows(const completion::Server& server,
                                   const std::vector<completion::ServerSeatStatus>& seats);

}  // namespace tributary::control
