#include "control/show/show_hosting.h"

#include <nlohmann/json.hpp>

#include "control/show/look.h"
#include "control/show/show.h"
#include "control/text/show_text.h"

namespace tributary::control {

using nlohmann::ordered_json;

ordered_json seat_row(const completion::SeatStatus& seat) {
  return {{"job", seat.job},
          {"shard", seat.shard},
          {"host", seat.host},
          {"term", seat.term},
          {"state", completion::name_of(seat.state)},
          {"choice", config::name_of(seat.choice)},
          {"chosen", completion::name_of(seat.chosen)},
          {"silent_ms", milliseconds_or_null(seat.silent_for)}};
}

ordered_json served_rows(const completion::Server& server,
                         const std::vector<completion::ServerSeatStatus>& seats) {
  ordered_json rows = ordered_json::array();
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const auto& counters = server.engine(i).counters(0);
    rows.push_back({{"job", seats[i].job},
                    {"shard", seats[i].shard},
                    {"serving", seats[i].serving},
                    {"refused", completion::name_of(seats[i].objection)},
                    {"epoch", seats[i].epoch},
                    {"term", seats[i].term},
                    {"chunks_open", counters.chunks_open.get()},
                    {"completions", counters.completions()},
                    {"root_silent_ms", milliseconds_or_null(seats[i].root_silent_for)}});
  }
  return rows;
}

ordered_json Show::hosts() {
  ordered_json rows = ordered_json::array();
  for (const auto& seat : hosts_of(switch_)) rows.push_back(seat_row(seat));
  return rows;
}

// Seats that this switch hosts for roots above.
ordered_json Show::seats() {
  ordered_json rows = ordered_json::array();
  for (const auto& packet_loop : switch_.packet_loops()) {
    const auto* const hosted = packet_loop->is_late() ? nullptr : packet_loop->hosted();
    for (std::size_t job = 0; hosted != nullptr && job < hosted->job_count(); ++job) {
      const completion::Server& server = hosted->server(job);
      const auto seats = on_loop(*packet_loop, [&server](dataplane::PacketLoop&, Instant now) {
        return server.status(now);
      });
      for (auto& row : served_rows(server, seats)) rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace tributary::control
