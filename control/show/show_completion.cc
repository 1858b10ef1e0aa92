// The tables of `show` about the completion engine.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "control/show/show.h"
#include "control/show/show_engine.h"
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

ordered_json Show::completion() {
  ordered_json rows = ordered_json::array();
  for (const auto& packet_loop : switch_.packet_loops()) {
    if (packet_loop->is_late()) continue;
    const auto& engine = packet_loop->completion();
    for (std::size_t i = 0; i < engine.job_count(); ++i)
      rows.push_back(engine_row(engine.counters(i), engine.limits(i).bytes,
                                {{"job", engine.limits(i).id}, {"plane", engine.limits(i).plane}}));
  }
  return rows;
}

ordered_json Show::escalated() {
  ordered_json rows = ordered_json::array();
  auto chunks = on_every_loop(switch_, [](dataplane::PacketLoop& w, Instant now) {
    return w.completion().status(now, kMostChunks);
  });
  sort_by_job(switch_, chunks, &completion::ChunkStatus::job);
  if (chunks.size() > kMostChunks) chunks.resize(kMostChunks);
  for (const auto& chunk : chunks) rows.push_back(chunk_row(chunk));
  return rows;
}

}  // namespace tributary::control
