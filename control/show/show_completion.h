// `show completion`, `show escalated`, `show hosts` and `show seats`: who finishes chunks, as a
// root sees its hosts and as a host sees its roots. The rows are those of parameter servers, too.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "completion/engine/engine.h"
#include "completion/host/remote_hosts.h"
#include "completion/host/server.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

// `row` holds what tells the engine apart.
nlohmann::ordered_json engine_row(const completion::JobCounters& counters,
                                  std::uint64_t bytes_limit, nlohmann::ordered_json row);
nlohmann::ordered_json chunk_row(const completion::ChunkStatus& chunk);
nlohmann::ordered_json seat_row(const completion::SeatStatus& seat);
// For a server, or a switch that hosts; `seats` is its status().
nlohmann::ordered_json served_rows(const completion::Server& server,
                                   const std::vector<completion::ServerSeatStatus>& seats);

// The engine of each job of which this switch is the root.
nlohmann::ordered_json show_completion(const dataplane::Switch& sw);
nlohmann::ordered_json show_escalated(const dataplane::Switch& sw);
nlohmann::ordered_json show_hosts(const dataplane::Switch& sw);
// Seats that this switch hosts for roots above.
nlohmann::ordered_json show_seats(const dataplane::Switch& sw);

}  // namespace tributary::control
