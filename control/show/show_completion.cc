#include "control/show/show_completion.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "control/text/look.h"
#include "control/text/show_text.h"

namespace tributary::control {

using nlohmann::ordered_json;

namespace {

constexpr std::size_t kMostChunks = 1024;

}  // namespace

ordered_json engine_row(const completion::JobCounters& c, std::uint64_t bytes_limit,
                        ordered_json row) {
  const std::uint64_t completions = c.completions();
  const double total_ms = static_cast<double>(c.latency_ns_total.get()) * 1e-6;
  row.update({{"chunks_open", c.chunks_open.get()},
              {"completions", completions},
              {"singles", c.singles.get()},
              {"aggregates", c.aggregates.get()},
              {"duplicates", c.duplicates.get()},
              {"rerequests", c.rerequests.get()},
              {"refused_full", c.refused_full.get()},
              {"given_up", c.given_up.get()},
              {"overflows", c.overflows.get()},
              {"float_retries", c.float_retries.get()},
              {"degraded", c.degraded.get()},
              {"left_out", c.left_out.get()},
              {"bytes_held", c.bytes_held.get()},
              {"bytes_high_water", c.bytes_high_water.get()},
              {"bytes_limit", bytes_limit},
              {"latency_ms", completions == 0 ? 0.0 : total_ms / static_cast<double>(completions)},
              {"latency_max_ms", static_cast<double>(c.latency_ns_max.get()) * 1e-6}});
  for (std::size_t r = 1; r < completion::kEscalationReasons; ++r) {
    std::string key = std::string("by_") + wire::name_of(static_cast<wire::Reason>(r));
    std::replace(key.begin(), key.end(), '-', '_');
    row[key] = c.completed[r].get();
  }
  return row;
}

ordered_json chunk_row(const completion::ChunkStatus& chunk) {
  return {{"job", chunk.job},
          {"plane", chunk.plane},
          {"shard", chunk.shard},
          {"op", chunk.op},
          {"chunk", chunk.chunk},
          {"seq", chunk.seq},
          {"reason", wire::name_of(chunk.reason)},
          {"covered", chunk.covered},
          {"required", chunk.required},
          {"pieces", chunk.pieces},
          {"open_ms", milliseconds(chunk.open_for)},
          {"missing", chunk.missing}};
}

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

ordered_json show_completion(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  for (const auto& packet_loop : sw.packet_loops()) {
    if (packet_loop->is_late()) continue;
    const auto& engine = packet_loop->completion();
    for (std::size_t i = 0; i < engine.job_count(); ++i)
      rows.push_back(engine_row(engine.counters(i), engine.limits(i).bytes,
                                {{"job", engine.limits(i).id}, {"plane", engine.limits(i).plane}}));
  }
  return rows;
}

ordered_json show_escalated(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  auto chunks = on_every_loop(sw, [](dataplane::PacketLoop& w, Instant now) {
    return w.completion().status(now, kMostChunks);
  });
  sort_by_job(sw, chunks, &completion::ChunkStatus::job);
  if (chunks.size() > kMostChunks) chunks.resize(kMostChunks);
  for (const auto& chunk : chunks) rows.push_back(chunk_row(chunk));
  return rows;
}

ordered_json show_hosts(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  for (const auto& seat : hosts_of(sw)) rows.push_back(seat_row(seat));
  return rows;
}

// Seats that this switch hosts for roots above.
ordered_json show_seats(const dataplane::Switch& sw) {
  ordered_json rows = ordered_json::array();
  for (const auto& packet_loop : sw.packet_loops()) {
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
