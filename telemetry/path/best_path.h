// The best path between two nodes: least latency, most free bandwidth, or fewest hops with ties by
// latency (C7).
//
// A candidate is the best path through one of the source's egress ports, or where it has only one,
// through one of the first node that has several. Paths over links that are down, or through hosts,
// are not candidates. A link of unknown latency counts as kUnknownLatency, so that it is chosen
// only if no better path is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"

namespace tributary::telemetry {

inline constexpr Duration kUnknownLatency = Duration::seconds(10);

struct PathLink {
  std::size_t from = 0;  // index of a node
  std::size_t to = 0;
  std::uint16_t egress_port = 0;
  std::optional<Duration> latency;  // of the hop and its link
  std::uint64_t free_bps = 0;       // capacity that is not in use
  bool up = true;
  bool from_host = false;  // no path leads through one
};

struct PathNetwork {
  std::vector<std::string> nodes;  // names
  std::vector<PathLink> links;     // one for each direction
};

enum class PathGoal : std::uint8_t { least_latency, most_bandwidth, fewest_hops };

struct PathFigures {
  Duration latency;
  std::uint64_t free_bps = 0;  // of the narrowest link
  std::size_t hops = 0;
  bool operator==(const PathFigures&) const = default;
};

struct Candidate {
  std::vector<std::size_t> links;  // indices into PathNetwork::links, in order
  PathFigures figures;
  bool operator==(const Candidate&) const = default;
};

// Current figures of these links; nullopt if one of them is down or no longer exists.
std::optional<PathFigures> figures_of(const PathNetwork& network,
                                      const std::vector<std::size_t>& links);
bool better(PathGoal goal, const PathFigures& a, const PathFigures& b);
// Best first; equal ones in the order of the links. `from` and `to` differ.
std::vector<Candidate> candidates(const PathNetwork& network, std::size_t from, std::size_t to,
                                  PathGoal goal);
// "leaf1 -2-> spine1 -0-> root": names, and egress ports between them.
std::string text_of(const PathNetwork& network, const std::vector<std::size_t>& links);

}  // namespace tributary::telemetry
