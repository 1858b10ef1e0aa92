#include "control/show/show_op.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "aggregator/shard/op_history.h"
#include "config/plan/aggregation_memory.h"
#include "control/text/late_loops.h"
#include "control/text/show_text.h"
#include "dataplane/rdma/queue_pair_status.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Lines {
  std::vector<aggregator::OpLine> lines;
  std::vector<dataplane::RankTransport> by;  // of the ranks as they are now
};

ordered_json row_of(std::size_t plane, const aggregator::OpLine& line,
                    std::span<const dataplane::RankTransport> by) {
  return {{"at_ms", milliseconds(line.at)},
          {"plane", plane},
          {"shard", line.shard},
          {"what", line.what},
          {"ranks", line.ranks},
          {"by", text_or_null(dataplane::transports_of(line.ranks, by))},
          {"chunk", line.chunk},
          {"chunks", line.chunks},
          {"until_ms", milliseconds(line.until)},
          {"behind_ms", ordered_json()},
          {"late_ms", or_null(line.late > Duration(), milliseconds(line.late))},
          {"hops", ordered_json()}};
}

// Where a sampled packet of the op has told of it: its hops from the sender on.
ordered_json hops_of(const std::vector<dataplane::OpHops::Entry>& sampled, std::size_t plane,
                     const aggregator::OpLine& line) {
  using dataplane::OpHops;
  using telemetry::kUnknown32;
  if (line.sender == aggregator::OpLine::kNoSender) return {};
  const auto sender = line.sender == aggregator::OpLine::kParent ? OpHops::kParent : line.sender;
  const auto found = std::find_if(sampled.begin(), sampled.end(), [&](const OpHops::Entry& one) {
    return one.plane == plane && one.child == sender;
  });
  if (found == sampled.end()) return {};
  ordered_json hops = ordered_json::array();
  for (const OpHops::Hop& hop : found->path())
    hops.push_back({{"node", or_null(hop.node != kUnknown32, hop.node)},
                    {"latency_us", or_null(hop.latency_ns != kUnknown32,
                                           static_cast<double>(hop.latency_ns) / 1000)}});
  return hops;
}

// Packets may come in at other loops than the one that has the job.
std::vector<dataplane::OpHops::Entry> sampled_of(const dataplane::Switch& sw, std::uint32_t job,
                                                 std::uint32_t op) {
  return on_every_loop(sw, [job, op](dataplane::PacketLoop& w, Instant) {
    return w.telemetry() == nullptr ? std::vector<dataplane::OpHops::Entry>()
                                    : w.telemetry()->op_hops().of(job, op);
  });
}

// Arrivals: how long after the first data of the same chunk. One that is behind need not be late.
void add_behind(ordered_json& rows) {
  std::map<std::array<std::uint64_t, 3>, double> first;  // by plane, shard and chunk
  for (ordered_json& row : rows) {                       // in order of time, plane by plane
    if (row["what"] != "arrived") continue;
    const double at = row["at_ms"];
    const auto known = first.try_emplace({row["plane"], row["shard"], row["chunk"]}, at).first;
    row["behind_ms"] = at - known->second;
  }
}

}  // namespace

ordered_json show_ops(const dataplane::Switch& sw, const std::string& name) {
  const auto job = number_of(name);
  if (!job) throw std::invalid_argument("'" + name + "' names no job; its id does, a number");
  ordered_json rows = ordered_json::array();
  const auto owners = sw.owners_of(*job);
  for (std::size_t plane = 0; plane < owners.size(); ++plane) {
    if (owners[plane]->is_late()) continue;
    const auto ops = on_loop(*owners[plane], [job = *job](dataplane::PacketLoop& w, Instant now) {
      return w.engine().known_ops(job, now);
    });
    for (const auto& op : ops)
      rows.push_back({{"op", op.op},
                      {"plane", plane},
                      {"ago_ms", milliseconds(op.ago)},
                      {"arrivals", op.timed ? "kept" : "not kept"},
                      {"result", op.finished ? "made" : "not yet"},
                      {"trouble", op.trouble}});
  }
  const auto placed = sw.jobs();
  if (std::any_of(placed.begin(), placed.end(),
                  [&](const dataplane::LoopJob& one) { return one.config().id == *job; }))
    return rows;
  refuse_job(sw, *job);
}

ordered_json show_op(const dataplane::Switch& sw, const std::string& name) {
  const std::string_view text = name;
  const std::size_t slash = text.find('/');
  const auto job = number_of(text.substr(0, slash));
  const auto id =
      slash == std::string_view::npos ? std::nullopt : number_of(text.substr(slash + 1));
  if (!job || !id)
    throw std::invalid_argument("'" + name +
                                "' names no op; JOB/OP does, two numbers such as 1/42");
  ordered_json rows = ordered_json::array();
  const auto sampled = sampled_of(sw, *job, *id);
  const auto owners = sw.owners_of(*job);
  for (std::size_t plane = 0; plane < owners.size(); ++plane) {
    if (owners[plane]->is_late()) continue;
    const Lines seen =
        on_loop(*owners[plane], [job = *job, id = *id](dataplane::PacketLoop& w, Instant now) {
          return Lines{w.engine().op_lines(job, id, now),
                       dataplane::rank_transports(job, w.connections(), w.engine(), now)};
        });
    for (const auto& line : seen.lines) {
      rows.push_back(row_of(plane, line, seen.by));
      rows.back()["hops"] = hops_of(sampled, plane, line);
    }
  }
  add_behind(rows);
  if (!rows.empty()) return rows;
  check_in_time(sw, *job);
  throw std::invalid_argument("op " + std::to_string(*id) + " of job " + std::to_string(*job) +
                              " is not known here: it has not begun, or is not one of the last " +
                              std::to_string(config::kOpHistory) +
                              ", or the job is not here; or it was one chunk in a quick "
                              "succession of such, of which some and one in " +
                              std::to_string(aggregator::OpHistory::kAlwaysOfSingles) +
                              " are kept");
}

}  // namespace tributary::control
