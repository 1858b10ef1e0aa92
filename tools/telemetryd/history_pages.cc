#include "tools/telemetryd/history_pages.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace tributary::telemetryd {
namespace {

using control::HttpQuery;
using nlohmann::ordered_json;

constexpr std::int64_t kMsPerSecond = 1000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kHour = 3600;
constexpr std::int64_t kMostSeconds = 1'000'000'000'000;

[[noreturn]] void refuse(const std::string& text) {
  throw std::invalid_argument(text + "\n");
}

void check_names(const HttpQuery& query, std::initializer_list<const char*> known) {
  for (const auto& [name, value] : query) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string text = "'" + name + "' is unknown; allowed:";
    for (const char* const one : known) text.append(" ").append(one);
    refuse(text);
  }
}

std::optional<std::int64_t> number(const HttpQuery& query, const char* name, std::int64_t least,
                                   std::int64_t most) {
  const auto found = query.find(name);
  if (found == query.end()) return std::nullopt;
  const std::string& text = found->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
    refuse(std::string(name) + "='" + text + "'; allowed: " + std::to_string(least) + " to " +
           std::to_string(most));
  return value;
}

std::int64_t needed(const HttpQuery& query, const char* name, std::int64_t most) {
  const auto value = number(query, name, 0, most);
  if (!value) refuse(std::string(name) + " is missing; such as /history?node=1&port=2&from=-3600");
  return *value;
}

std::int64_t time_of(const HttpQuery& query, const char* name, std::int64_t usual,
                     std::int64_t now_s) {
  const std::int64_t value = number(query, name, -kMostSeconds, kMostSeconds).value_or(usual);
  return value > 0 ? value : now_s + value;
}

HistoryRange range_of(const HttpQuery& query, std::int64_t now_s) {
  HistoryRange range;
  range.from_ms = time_of(query, "from", -kHour, now_s) * kMsPerSecond;
  // The second that has begun is part of it.
  range.to_ms = query.contains("to") ? time_of(query, "to", 0, now_s) * kMsPerSecond
                                     : (now_s + 1) * kMsPerSecond;
  if (range.to_ms <= range.from_ms) refuse("'to' is not after 'from'");
  return range;
}

std::int64_t ceiling(std::int64_t value, std::int64_t by) {
  return (value + by - 1) / by;
}

std::int64_t step_s(const HttpQuery& query, const HistoryRange& range, Duration every) {
  const std::int64_t seconds = (range.to_ms - range.from_ms) / kMsPerSecond;
  const std::int64_t usual =
      std::max(ceiling(every.to_ns(), kNsPerSecond), ceiling(seconds, HistoryPages::kUsualRows));
  const std::int64_t step = number(query, "step", 1, kMostSeconds).value_or(usual);
  if (ceiling(seconds, step) > HistoryPages::kMostRows)
    refuse("these are more than " + std::to_string(HistoryPages::kMostRows) +
           " rows; choose a longer step or a shorter time");
  return step;
}

ordered_json row_of(const HistoryStep& step) {
  ordered_json row{{"time", step.begin_ms / kMsPerSecond}, {"rows", step.rows}};
  const auto add = [&row](const char* name, const std::optional<std::uint64_t>& value) {
    if (value) row[name] = *value;
  };
  add("latency_ns", step.link.latency_ns);
  add("p50_ns", step.link.p50_ns);
  add("p99_ns", step.link.p99_ns);
  add("utilisation_ppm", step.link.utilisation_ppm);
  add("queue", step.link.queue);
  row["dropped"] = step.link.dropped;
  return row;
}

control::HttpPage json_page(std::string body) {
  return {200, "application/json", std::move(body)};
}

}  // namespace

std::string HistoryPages::link_json(const HttpQuery& query, std::int64_t now_s) {
  check_names(query, {"node", "port", "from", "to", "step"});
  const telemetry::LinkKey key{
      static_cast<std::uint32_t>(needed(query, "node", telemetry::kUnknown32)),
      static_cast<std::uint16_t>(needed(query, "port", telemetry::kUnknown16))};
  HistoryRange range = range_of(query, now_s);
  range.step_ms = step_s(query, range, every_) * kMsPerSecond;
  if (reader_.times(range, kMostTimes + 1) > kMostTimes)
    refuse("rows were written more than " + std::to_string(kMostTimes) +
           " times then; choose a shorter time");
  ordered_json rows = ordered_json::array();
  for (const HistoryStep& step : reader_.link(key, range)) rows.push_back(row_of(step));
  return ordered_json{{"node", key.node},
                      {"port", key.port},
                      {"from", range.from_ms / kMsPerSecond},
                      {"to", range.to_ms / kMsPerSecond},
                      {"step", range.step_ms / kMsPerSecond},
                      {"rows", rows}}
      .dump();
}

std::string HistoryPages::decisions_json(const HttpQuery& query, std::int64_t now_s) {
  check_names(query, {"from", "to"});
  ordered_json rows = ordered_json::array();
  for (const DecisionRow& row : reader_.decisions(range_of(query, now_s), kMostDecisions))
    rows.push_back({{"time", static_cast<double>(row.time_ms) / kMsPerSecond},
                    {"from", row.from},
                    {"to", row.to},
                    {"explanation", row.explanation}});
  return rows.dump();
}

void add_history_pages(control::HttpServer::Pages& pages, std::shared_ptr<HistoryPages> history,
                       std::function<std::int64_t()> unix_s) {
  pages["/history"] = [history, unix_s](const HttpQuery& query) {
    return json_page(history->link_json(query, unix_s()));
  };
  pages["/history/decisions"] = [history, unix_s](const HttpQuery& query) {
    return json_page(history->decisions_json(query, unix_s()));
  };
}

}  // namespace tributary::telemetryd
