#include "telemetry/path/best_path.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <tuple>
#include <utility>

namespace tributary::telemetry {
namespace {

struct Edge {
  std::size_t link = 0;
};
using Graph =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Edge>;
using Vertex = boost::graph_traits<Graph>::vertex_descriptor;
// Compared from left to right; the goal decides which figure comes first.
using Cost = std::pair<std::int64_t, std::int64_t>;

constexpr std::int64_t kFar = std::int64_t{1} << 61;

std::int64_t latency_ns(const PathLink& link) {
  return link.latency.value_or(kUnknownLatency).to_ns();
}

Cost cost_of(const PathLink& link, PathGoal goal) {
  return goal == PathGoal::fewest_hops ? Cost{1, latency_ns(link)} : Cost{latency_ns(link), 1};
}

// A graph of the links that are up, have `free_bps`, and touch neither hosts behind them nor
// `without`.
Graph graph_of(const PathNetwork& network, std::size_t without, std::uint64_t free_bps) {
  Graph graph(network.nodes.size());
  for (std::size_t i = 0; i < network.links.size(); ++i) {
    const PathLink& link = network.links[i];
    if (link.up && !link.from_host && link.from != without && link.to != without &&
        link.free_bps >= free_bps)
      boost::add_edge(link.from, link.to, Edge{i}, graph);
  }
  return graph;
}

// The cheapest path over these links; nullopt if there is none.
std::optional<std::vector<std::size_t>> cheapest(const PathNetwork& network, const Graph& graph,
                                                 std::size_t from, std::size_t to, PathGoal goal) {
  std::vector<Vertex> before(boost::num_vertices(graph));
  std::vector<Cost> costs(boost::num_vertices(graph));
  std::vector<Cost> of_link(network.links.size());
  for (std::size_t i = 0; i < of_link.size(); ++i) of_link[i] = cost_of(network.links[i], goal);
  const auto add = [](const Cost& a, const Cost& b) {
    if (a.first >= kFar || b.first >= kFar) return Cost{kFar, 0};
    return Cost{a.first + b.first, a.second + b.second};
  };
  const auto index = boost::get(boost::vertex_index, graph);
  boost::dijkstra_shortest_paths(
      graph, from,
      boost::predecessor_map(boost::make_iterator_property_map(before.begin(), index))
          .distance_map(boost::make_iterator_property_map(costs.begin(), index))
          .weight_map(
              boost::make_iterator_property_map(of_link.begin(), boost::get(&Edge::link, graph)))
          .distance_compare(std::less<>())
          .distance_combine(add)
          .distance_inf(Cost{kFar, 0})
          .distance_zero(Cost{0, 0}));
  if (costs[to].first >= kFar) return std::nullopt;
  std::vector<std::size_t> links;
  for (Vertex at = to; at != from; at = before[at]) {
    std::optional<std::size_t> best;  // of parallel links
    for (const auto edge : boost::make_iterator_range(boost::out_edges(before[at], graph))) {
      const std::size_t link = graph[edge].link;
      if (boost::target(edge, graph) == at && (!best || of_link[link] < of_link[*best]))
        best = link;
    }
    links.push_back(*best);
  }
  std::reverse(links.begin(), links.end());
  return links;
}

// The width of the widest path: the largest link bandwidth that still leaves a path.
std::uint64_t width(const PathNetwork& network, std::size_t without, std::size_t from,
                    std::size_t to) {
  std::vector<std::uint64_t> widths;
  for (const PathLink& link : network.links) widths.push_back(link.free_bps);
  std::sort(widths.begin(), widths.end());
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  std::size_t low = 0;
  std::size_t high = widths.size();
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    const Graph graph = graph_of(network, without, widths[middle]);
    (cheapest(network, graph, from, to, PathGoal::least_latency) ? low : high) = middle;
  }
  return widths.empty() ? 0 : widths[low];
}

// Links that are up from this node to others, but not back to `from`; none from a host behind that.
std::vector<std::size_t> ways_out(const PathNetwork& network, std::size_t node,
                                  std::optional<std::size_t> from) {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < network.links.size(); ++i) {
    const PathLink& link = network.links[i];
    const bool leads_on = link.up && link.from == node && link.to != node && link.to != from;
    if (leads_on && !(from && link.from_host)) out.push_back(i);
  }
  return out;
}

// The node before the last one of these links.
std::optional<std::size_t> before(const PathNetwork& network,
                                  const std::vector<std::size_t>& links) {
  return links.empty() ? std::nullopt : std::optional(network.links[links.back()].from);
}

// The links that all paths begin with, up to the first node with several ways.
std::vector<std::size_t> only_way(const PathNetwork& network, std::size_t from, std::size_t to) {
  std::vector<std::size_t> links;
  for (std::size_t at = from; links.size() < network.nodes.size();) {
    const auto out = ways_out(network, at, before(network, links));
    if (out.size() != 1 || network.links[out.front()].to == to) break;
    links.push_back(out.front());
    at = network.links[out.front()].to;
  }
  return links;
}

// The best path that begins with these links.
std::optional<Candidate> behind(const PathNetwork& network, std::vector<std::size_t> links,
                                std::size_t to, PathGoal goal) {
  const PathLink& link = network.links[links.back()];
  Candidate candidate{std::move(links), {}};
  if (link.to != to) {
    std::uint64_t least = 0;
    if (goal == PathGoal::most_bandwidth)
      least = std::min(figures_of(network, candidate.links)->free_bps,
                       width(network, link.from, link.to, to));
    const auto rest = cheapest(network, graph_of(network, link.from, least), link.to, to, goal);
    if (!rest) return std::nullopt;
    candidate.links.insert(candidate.links.end(), rest->begin(), rest->end());
  }
  candidate.figures = *figures_of(network, candidate.links);
  return candidate;
}

}  // namespace

std::optional<PathFigures> figures_of(const PathNetwork& network,
                                      const std::vector<std::size_t>& links) {
  PathFigures figures;
  for (const std::size_t i : links) {
    if (i >= network.links.size() || !network.links[i].up) return std::nullopt;
    const PathLink& link = network.links[i];
    figures.latency = figures.latency + link.latency.value_or(kUnknownLatency);
    figures.free_bps =
        figures.hops == 0 ? link.free_bps : std::min(figures.free_bps, link.free_bps);
    ++figures.hops;
  }
  return figures;
}

bool better(PathGoal goal, const PathFigures& a, const PathFigures& b) {
  switch (goal) {
    case PathGoal::least_latency: return std::tie(a.latency, a.hops) < std::tie(b.latency, b.hops);
    case PathGoal::fewest_hops: return std::tie(a.hops, a.latency) < std::tie(b.hops, b.latency);
    case PathGoal::most_bandwidth: break;
  }
  return std::tie(b.free_bps, a.latency) < std::tie(a.free_bps, b.latency);
}

std::vector<Candidate> candidates(const PathNetwork& network, std::size_t from, std::size_t to,
                                  PathGoal goal) {
  const std::vector<std::size_t> shared = only_way(network, from, to);
  const std::size_t fork = shared.empty() ? from : network.links[shared.back()].to;
  std::vector<Candidate> found;
  for (const std::size_t i : ways_out(network, fork, before(network, shared))) {
    std::vector<std::size_t> links = shared;
    links.push_back(i);
    if (auto candidate = behind(network, std::move(links), to, goal))
      found.push_back(std::move(*candidate));
  }
  std::stable_sort(found.begin(), found.end(), [goal](const Candidate& a, const Candidate& b) {
    return better(goal, a.figures, b.figures);
  });
  return found;
}

std::string text_of(const PathNetwork& network, const std::vector<std::size_t>& links) {
  if (links.empty()) return "none";
  std::string text = network.nodes[network.links[links.front()].from];
  for (const std::size_t i : links) {
    const PathLink& link = network.links[i];
    text += " -" + std::to_string(link.egress_port) + "-> " + network.nodes[link.to];
  }
  return text;
}

}  // namespace tributary::telemetry
