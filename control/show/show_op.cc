// `show op JOB/OP`: the time-line of an op, over all shards of this switch; plane by plane, each of
// which counts from its own first contribution.
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "aggregator/shard/op_history.h"
#include "config/plan/aggregation_memory.h"
#include "control/show/show.h"
#include "control/text/late_loops.h"
#include "control/text/show_text.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

ordered_json row_of(std::size_t plane, const aggregator::OpLine& line) {
  return {{"at_ms", milliseconds(line.at)},
          {"plane", plane},
          {"shard", line.shard},
          {"what", line.what},
          {"ranks", line.ranks},
          {"chunk", line.chunk},
          {"chunks", line.chunks},
          {"until_ms", milliseconds(line.until)},
          {"behind_ms", ordered_json()},
          {"late_ms", or_null(line.late > Duration(), milliseconds(line.late))}};
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

ordered_json Show::op(const std::string& name) {
  const std::string_view text = name;
  const std::size_t slash = text.find('/');
  const auto job = number_of(text.substr(0, slash));
  const auto id =
      slash == std::string_view::npos ? std::nullopt : number_of(text.substr(slash + 1));
  if (!job || !id)
    throw std::invalid_argument("'" + name +
                                "' names no op; JOB/OP does, two numbers such as 1/42");
  ordered_json rows = ordered_json::array();
  const auto owners = switch_.owners_of(*job);
  for (std::size_t plane = 0; plane < owners.size(); ++plane) {
    if (owners[plane]->is_late()) continue;
    for (const auto& line :
         on_loop(*owners[plane], [job = *job, id = *id](dataplane::PacketLoop&w, Instant now) {
           return w.engine().op_lines(job, id, now);
         }))
      rows.push_back(row_of(plane, line));
  }
  add_behind(rows);
  if (!rows.empty()) return rows;
  check_in_time(switch_, *job);
  throw std::invalid_argument("op " + std::to_string(*id) + " of job " + std::to_string(*job) +
                              " is not known here: it has not begun, or is not one of the last " +
                              std::to_string(config::kOpHistory) +
                              ", or the job is not here; or it was one chunk in a quick "
                              "succession of such, of which some and one in " +
                              std::to_string(aggregator::OpHistory::kAlwaysOfSingles) +
                              " are kept");
}

}  // namespace tributary::control
