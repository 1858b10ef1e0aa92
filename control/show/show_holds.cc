#include "control/show/show_holds.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "control/text/late_loops.h"
#include "control/text/show_text.h"

namespace tributary::control {
namespace {

using aggregator::HoldTimes;
using nlohmann::ordered_json;

ordered_json row_of(const ordered_json& job, const ordered_json& plane, const ordered_json& shard,
                    const HoldTimes& times, Duration longest, std::uint64_t open) {
  const std::uint64_t count = times.count();
  const auto mean = count == 0 ? 0 : static_cast<std::int64_t>(times.total_ns.get() / count);
  return {{"job", job},
          {"plane", plane},
          {"shard", shard},
          {"held", count},
          {"open", open},
          {"mean_ms", milliseconds(Duration::ns(mean))},
          {"p50_ms", milliseconds(times.percentile(50, longest))},
          {"p99_ms", milliseconds(times.percentile(99, longest))},
          {"max_ms", milliseconds(longest)}};
}

Duration longest_of(const aggregator::ShardCounters& counters) {
  return Duration::ns(static_cast<std::int64_t>(counters.slot_hold_ns_max.get()));
}

Duration longest_turn(const dataplane::PacketLoop& packet_loop) {
  return Duration::ns(static_cast<std::int64_t>(packet_loop.counters().longest_turn_ns.get()));
}

// A row for each bucket from the first to the last that is not empty.
ordered_json buckets_of(const HoldTimes& times) {
  ordered_json rows = ordered_json::array();
  const std::uint64_t count = times.count();
  std::uint64_t below = 0;
  for (std::size_t b = 0; b < HoldTimes::kBuckets && below < count; ++b) {
    const std::uint64_t held = times.in(b);
    below += held;
    if (below == 0) continue;
    const bool last = b + 1 == HoldTimes::kBuckets;
    rows.push_back(
        {{"from_ms", milliseconds(b == 0 ? Duration() : HoldTimes::bound(b - 1))},
         {"below_ms", or_null(!last, milliseconds(HoldTimes::bound(b)))},
         {"held", held},
         {"share_percent", 100.0 * static_cast<double>(held) / static_cast<double>(count)},
         {"so_far_percent", 100.0 * static_cast<double>(below) / static_cast<double>(count)}});
  }
  return rows;
}

}  // namespace

ordered_json show_holds(const dataplane::Switch& sw) {
  ordered_json jobs = ordered_json::array();
  Duration longest;
  std::uint64_t open = 0;
  for (const dataplane::LoopJob& placed : sw.jobs()) {
    const auto& job = placed.config();
    const aggregator::JobCounters all = placed.engine().counters(placed.index);
    const Duration turn = longest_turn(*placed.packet_loop);
    longest = std::max(longest, longest_of(all));
    open += all.slots_open.get();
    const auto add = [&](const ordered_json& shard, const aggregator::ShardCounters& c) {
      ordered_json row =
          row_of(job.id, job.plane, shard, c.slot_hold, longest_of(c), c.slots_open.get());
      row["deadline_ms"] = milliseconds(job.deadline);
      row["bound_ms"] = milliseconds(job.deadline + turn);
      jobs.push_back(std::move(row));
    };
    add("all", all);
    if (job.shards == 1) continue;
    for (std::uint8_t shard = 0; shard < job.shards; ++shard)
      if (const auto* const part = placed.engine().shard_counters(placed.index, shard))
        add(shard, *part);
  }
  ordered_json whole = row_of("all", "all", "all", slot_holds(sw), longest, open);
  whole["deadline_ms"] = nullptr;
  whole["bound_ms"] = nullptr;
  ordered_json rows = ordered_json::array({std::move(whole)});
  for (auto& row : jobs) rows.push_back(std::move(row));
  return rows;
}

ordered_json show_holds(const dataplane::Switch& sw, const std::string& which) {
  if (which == "all") return buckets_of(slot_holds(sw));
  std::uint32_t id = 0;
  const auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), id);
  if (error != std::errc{} || end != which.data() + which.size())
    throw std::invalid_argument("'" + which + "' names no job; allowed: a job's id, or all");
  bool found = false;
  HoldTimes times;  // of all its planes
  for (const dataplane::LoopJob& placed : sw.jobs()) {
    if (placed.config().id != id) continue;
    found = true;
    times.include(placed.engine().counters(placed.index).slot_hold);
  }
  if (found) return buckets_of(times);
  refuse_job(sw, id);
}

}  // namespace tributary::control
