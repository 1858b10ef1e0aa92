// Destinations that switches have pinned to their ports (`ports[].paths`), as `show telemetry
// ports` says, and as changes would make them. Pure; nodes are indices of the network file's.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "config/model/path_destination.h"
#include "tools/telemetryd/network_file.h"

namespace tributary::telemetryd {

using Destinations = std::vector<config::PathDestination>;

// The whole list of a port, as it shall be.
struct PinChange {
  std::size_t node = 0;
  std::uint16_t port = 0;
  Destinations paths;
};

class SwitchPins {
 public:
  explicit SwitchPins(const NetworkFile& file);

  // Rows of `show telemetry ports`; throws std::runtime_error on others.
  void take(std::size_t node, const nlohmann::ordered_json& rows);
  void forget(std::size_t node) { nodes_[node].clear(); }
  // The node has made its own ones of these changes.
  void take(std::size_t node, const std::vector<PinChange>& changes);
  [[nodiscard]] bool is_known(std::size_t node) const { return !nodes_[node].empty(); }
  // Links of the file's ways_of(), along which all of `to` is pinned from node to node; empty
  // unless that leads from `from`, or from the switch of that host, to `end`.
  [[nodiscard]] std::vector<std::size_t> chain(std::size_t from, std::size_t end,
                                               const Destinations& to) const;
  // Changes that pin `to` along these links, and nowhere else on their nodes; none for nodes that
  // have it so. Throws std::runtime_error, where one of them is not known or has no such port.
  [[nodiscard]] std::vector<PinChange> pinning(const std::vector<std::size_t>& links,
                                               const Destinations& to) const;
  // Changes that end all other pins of `to`.
  [[nodiscard]] std::vector<PinChange> elsewhere(const std::vector<std::size_t>& links,
                                                 const Destinations& to) const;
  // These changes, and the lists of all other ports that have to do with `to`: of each known switch
  // that has or shall have some of it, the ports that do and the ends of links. Who has forgotten
  // the pins of others, or heard of old ones last, can look for loops by them.
  [[nodiscard]] std::vector<PinChange> whole(std::vector<PinChange> changes,
                                             const Destinations& to) const;
  // The cycle that frames to one of these could take while some switches have changed and others
  // have not: "A -> B -> A"; empty: there is none.
  [[nodiscard]] std::string cycle(const std::vector<PinChange>& changes,
                                  const Destinations& to) const;
  // Keys and values for `set` at the switch that is told.
  [[nodiscard]] nlohmann::ordered_json values(std::size_t told,
                                              const std::vector<PinChange>& changes) const;
  // The first switch of a path: `from`, or the one of that host.
  [[nodiscard]] std::size_t first_switch(std::size_t from) const;

 private:
  struct Port {
    std::string name;
    Destinations paths;
  };
  using Ports = std::map<std::uint16_t, Port>;

  [[nodiscard]] bool is_host(std::size_t node) const { return file_.nodes[node].id == 0; }
  [[nodiscard]] const LinkWay* way_out(std::size_t node, std::uint16_t port) const;
  // Ports of the node without `to`, but for `keep`, which has all of it.
  void change_node(std::size_t node, std::optional<std::uint16_t> keep, const Destinations& to,
                   std::vector<PinChange>& changes) const;
  [[nodiscard]] std::optional<std::uint16_t> port_of(std::size_t node,
                                                     const config::PathDestination& to,
                                                     const std::vector<PinChange>& changes) const;

  const NetworkFile file_;
  const std::vector<LinkWay> ways_;
  std::vector<Ports> nodes_;  // none: not known
};

}  // namespace tributary::telemetryd
