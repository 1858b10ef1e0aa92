#include "tools/telemetryd/path_watch.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "config/schema/schema_forwarding.h"
#include "config/schema/schema_telemetry.h"

namespace tributary::telemetryd {
namespace {

using nlohmann::ordered_json;
using telemetry::PathLink;

constexpr std::uint64_t kBitsPerMb = 1'000'000;
// A lost report or two make no link bad.
static_assert(PathWatch::kFreshProbe.to_ns() >= 4 * config::kMostProbePause.to_ns());

template <typename Number>
bool within_a_fifth(Number a, Number b) {
  return (a > b ? a - b : b - a) <= b / 5;
}

bool alike(const PathLink& a, const PathLink& b) {
  if (a.up != b.up || a.latency.has_value() != b.latency.has_value()) return false;
  if (!within_a_fifth(a.free_bps, b.free_bps)) return false;
  return !a.latency || within_a_fifth(a.latency->to_ns(), b.latency->to_ns());
}

ordered_json figures(const telemetry::PathNetwork& network, const telemetry::Candidate& path) {
  ordered_json row{{"path", telemetry::text_of(network, path.links)},
                   {"hops", path.figures.hops},
                   {"free_mbps", path.figures.free_bps / kBitsPerMb}};
  // Beyond that, some link is not known.
  const bool known = path.figures.latency < telemetry::kUnknownLatency;
  row["latency_us"] = known ? ordered_json(path.figures.latency.to_ns() / 1000) : ordered_json();
  return row;
}

}  // namespace

PathWatch::PathWatch(const NetworkFile& file) : file_(file) {
  for (const NetworkNode& node : file_.nodes) network_.nodes.push_back(node.name);
  for (const LinkWay& way : ways_of(file_))
    network_.links.push_back({.from = way.from,
                              .to = way.to,
                              .egress_port = way.port,
                              .latency = {},
                              .free_bps = way.mbps * kBitsPerMb,
                              .from_host = file_.nodes[way.from].id == 0});
  const auto add = [&](const auto& of, const std::string& from, telemetry::PathGoal goal) {
    const telemetry::ChooserOptions own{
        .goal = goal, .least_gain = of.least_gain, .settle = of.settle, .hold = of.hold};
    paths_.push_back(
        {{from, of.to, goal, {}, 0}, {index_of(file_, from), index_of(file_, of.to), own}});
  };
  for (const NetworkPath& path : file_.paths) {
    add(path, path.from, path.goal);
    for (const auto& to : path.destinations)
      paths_.back().destinations.push_back(config::text_of(to));
  }
  for (std::size_t i = 0; i < file_.trees.size(); ++i) {
    add(file_.trees[i], file_.trees[i].child, telemetry::PathGoal::least_latency);
    paths_.back().tree = i;
  }
  probed_ = network_;
  answered_.resize(network_.links.size());
}

void PathWatch::refresh(const telemetry::RecordTable& table, Instant now) {
  const std::scoped_lock lock(deciding_, mutex_);
  for (std::size_t i = 0; i < network_.links.size(); ++i) {
    PathLink& link = network_.links[i];
    const std::uint32_t node = file_.nodes[link.from].id;
    link.free_bps = file_.links[i / 2].mbps * kBitsPerMb;
    link.latency.reset();
    link.up = probed_.links[i].up = true;
    probed_.links[i].latency.reset();
    // Hosts answer no probes: the links to them are the same on each path.
    if (node == 0 || file_.nodes[link.to].id == 0) probed_.links[i].latency = Duration();
    if (node == 0) {
      link.latency = Duration();
      continue;
    }
    if (const auto* const record = table.link({node, link.egress_port})) refresh(i, *record, now);
  }
}

void PathWatch::refresh(std::size_t index, const telemetry::LinkRecord& record, Instant now) {
  PathLink& link = network_.links[index];
  const bool is_probed = record.link_seen != Instant();
  const bool is_fresh = is_probed && now - record.link_seen <= kFreshProbe;
  if (is_fresh && record.link_ns != telemetry::kUnknown32)
    probed_.links[index].latency = Duration::ns(record.link_ns);
  set_up(index, record, is_fresh);
  const bool is_sampled = now - record.sampled <= kFresh;
  if (is_sampled && record.has_latency())
    link.latency = Duration::ns(static_cast<std::int64_t>(record.latency_ewma_ns));
  if (is_probed) {
    const auto measured = probed_.links[index].latency;
    link.latency =
        measured ? std::optional(link.latency.value_or(Duration()) + *measured) : std::nullopt;
  }
  if (is_sampled && record.utilisation_ppm <= 1'000'000)
    link.free_bps -= link.free_bps / 1'000'000 * record.utilisation_ppm;
}

// A switch that says nothing may be well, and its reports lost.
void PathWatch::set_up(std::size_t index, const telemetry::LinkRecord& record, bool is_fresh) {
  const bool answers = record.link_ns != telemetry::kUnknown32;
  if (is_fresh && answers) answered_[index] = true;
  network_.links[index].up = probed_.links[index].up = !is_fresh || answers || !answered_[index];
}

bool PathWatch::take_change() {
  const std::scoped_lock lock(deciding_, mutex_);
  std::vector<PathLink> now = network_.links;
  now.insert(now.end(), probed_.links.begin(), probed_.links.end());
  if (std::equal(now.begin(), now.end(), noted_.begin(), noted_.end(), alike)) return false;
  noted_ = std::move(now);
  return true;
}

std::optional<PathWatch::TreeMove> PathWatch::move_of(const Watched& watched) const {
  if (!watched.tree || watched.path.decision.chosen.links.empty()) return std::nullopt;
  const std::uint16_t port = network_.links[watched.path.decision.chosen.links.front()].egress_port;
  const auto& uplinks = file_.trees[*watched.tree].uplinks;
  const auto way = std::find_if(uplinks.begin(), uplinks.end(),
                                [port](const NetworkUplink& u) { return u.port == port; });
  if (way == uplinks.end() || way->name == watched.path.uplink) return std::nullopt;
  return TreeMove{*watched.tree, watched.path.uplink, way->name};
}

void PathWatch::in_force(std::size_t tree, const std::string& uplink) {
  const auto& uplinks = file_.trees[tree].uplinks;
  const auto way = std::find_if(uplinks.begin(), uplinks.end(),
                                [&](const NetworkUplink& u) { return u.name == uplink; });
  if (way == uplinks.end()) return;
  const std::scoped_lock lock(deciding_, mutex_);
  for (Watched& watched : paths_) {
    if (watched.tree != tree) continue;
    watched.path.uplink = uplink;
    watched.chooser.follow(probed_, way->port);
  }
}

std::optional<PathWatch::PathOrder> PathWatch::order_of(const Watched& watched) const {
  const auto& links = watched.path.decision.chosen.links;
  if (watched.destinations.empty() || links.empty()) return std::nullopt;
  return PathOrder{static_cast<std::size_t>(&watched - paths_.data()), links};
}

void PathWatch::follow(std::size_t path, const std::vector<std::size_t>& links) {
  const std::scoped_lock lock(deciding_, mutex_);
  Watched& watched = paths_[path];
  watched.path.installed = !links.empty();
  if (!links.empty()) watched.chooser.follow(links);
}

void PathWatch::note_installed(std::size_t path, bool installed) {
  const std::scoped_lock lock(deciding_, mutex_);
  paths_[path].path.installed = installed;
}

std::vector<PathWatch::Decision> PathWatch::decide(Instant now) {
  const std::lock_guard deciding(deciding_);
  std::vector<Decision> changed;
  for (Watched& watched : paths_) {
    if (ending_) break;
    if (!watched.is_known()) continue;
    const telemetry::PathNetwork& network = watched.is_used() ? probed_ : network_;
    telemetry::PathDecision decision = watched.chooser.decide(network, now);
    const std::lock_guard lock(mutex_);
    watched.path.decision = std::move(decision);
    if (!watched.path.decision.changed) continue;
    if (watched.path.decision.reason == telemetry::PathReason::moved) ++watched.path.moves;
    changed.push_back({now, watched.path.from, watched.path.to,
                       telemetry::explain(network, watched.path.decision), move_of(watched),
                       order_of(watched)});
    decisions_.push_front(changed.back());
    if (decisions_.size() > kMostDecisions) decisions_.pop_back();
  }
  return changed;
}

std::vector<PathWatch::Path> PathWatch::paths() const {
  const std::lock_guard lock(mutex_);
  std::vector<Path> all;
  for (const Watched& watched : paths_) all.push_back(watched.path);
  return all;
}

std::string PathWatch::paths_json() const {
  const std::lock_guard lock(mutex_);
  ordered_json rows = ordered_json::array();
  for (const Watched& watched : paths_) {
    const telemetry::PathDecision& decision = watched.path.decision;
    ordered_json row{
        {"from", watched.path.from}, {"to", watched.path.to}, {"goal", name_of(watched.path.goal)}};
    if (decision.chosen.links.empty())
      row["path"] = nullptr;
    else
      row.update(figures(network_, decision.chosen));
    row["why"] = telemetry::text_of(decision.reason);
    row["moves"] = watched.path.moves;
    if (watched.tree) row["uplink"] = watched.path.uplink;
    if (!watched.destinations.empty()) {
      row["destinations"] = watched.destinations;
      row["installed"] = watched.path.installed.value_or(false);
    }
    ordered_json all = ordered_json::array();
    for (const auto& candidate : decision.candidates) all.push_back(figures(network_, candidate));
    row["candidates"] = all;
    rows.push_back(row);
  }
  return rows.dump();
}

std::string PathWatch::decisions_json(Instant now) const {
  const std::lock_guard lock(mutex_);
  ordered_json rows = ordered_json::array();
  for (const Decision& decision : decisions_)
    rows.push_back({{"age_ns", (now - decision.at).to_ns()},
                    {"from", decision.from},
                    {"to", decision.to},
                    {"explanation", decision.explanation}});
  return rows.dump();
}

std::string PathWatch::network_json() const {
  const std::lock_guard lock(mutex_);
  ordered_json nodes = ordered_json::array();
  for (const NetworkNode& node : file_.nodes)
    nodes.push_back({{"name", node.name}, {"id", node.id}});
  ordered_json links = ordered_json::array();
  for (const PathLink& link : network_.links) {
    ordered_json row{{"from", network_.nodes[link.from]},
                     {"port", link.egress_port},
                     {"to", network_.nodes[link.to]},
                     {"up", link.up},
                     {"free_mbps", link.free_bps / kBitsPerMb}};
    row["latency_ns"] = link.latency ? ordered_json(link.latency->to_ns()) : ordered_json();
    links.push_back(row);
  }
  return ordered_json{{"nodes", nodes}, {"links", links}}.dump();
}

}  // namespace tributary::telemetryd
