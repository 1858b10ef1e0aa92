#include "tools/telemetryd/switch_pins.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "config/schema/schema_forwarding.h"
#include "config/topology/path_cycle.h"

namespace tributary::telemetryd {
namespace {

using nlohmann::ordered_json;

bool has(const Destinations& list, const config::PathDestination& to) {
  return std::find(list.begin(), list.end(), to) != list.end();
}

Destinations without(Destinations list, const Destinations& to) {
  std::erase_if(list, [&](const config::PathDestination& one) { return has(to, one); });
  return list;
}

config::PathDestination parsed(const std::string& text) {
  config::Node node;
  node.kind = config::Node::Kind::scalar;
  node.text = text;
  config::PathDestination to;
  if (const auto wrong = config::path_destination().parse(node, to))
    throw std::runtime_error("'" + text + "' among its paths " + *wrong);
  return to;
}

std::string list_text(const Destinations& list) {
  std::string text;
  for (const config::PathDestination& to : list)
    text += (text.empty() ? "" : ", ") + config::path_destination().format(to).value_or("");
  return "[" + text + "]";
}

}  // namespace

SwitchPins::SwitchPins(const NetworkFile& file)
    : file_(file), ways_(ways_of(file)), nodes_(file.nodes.size()) {}

void SwitchPins::take(std::size_t node, const ordered_json& rows) {
  Ports ports;
  try {
    for (const ordered_json& row : rows) {
      Port& port = ports[row.at("id").get<std::uint16_t>()];
      port.name = row.at("port").get<std::string>();
      for (const ordered_json& to : row.at("paths"))
        port.paths.push_back(parsed(to.get<std::string>()));
    }
  } catch (const nlohmann::json::exception&) {
    throw std::runtime_error("its `show telemetry ports` has no ports with numbers and paths");
  }
  if (ports.empty()) throw std::runtime_error("it has no telemetry");
  nodes_[node] = std::move(ports);
}

void SwitchPins::take(std::size_t node, const std::vector<PinChange>& changes) {
  for (const PinChange& change : changes)
    if (change.node == node) nodes_[node].at(change.port).paths = change.paths;
}

const LinkWay* SwitchPins::way_out(std::size_t node, std::uint16_t port) const {
  const auto is_it = [&](const LinkWay& way) { return way.from == node && way.port == port; };
  const auto way = std::find_if(ways_.begin(), ways_.end(), is_it);
  return way == ways_.end() ? nullptr : &*way;
}

std::size_t SwitchPins::first_switch(std::size_t from) const {
  if (!is_host(from)) return from;
  const auto is_it = [&](const LinkWay& way) { return way.from == from; };
  return std::find_if(ways_.begin(), ways_.end(), is_it)->to;
}

std::vector<std::size_t> SwitchPins::chain(std::size_t from, std::size_t end,
                                           const Destinations& to) const {
  std::vector<std::size_t> links;
  std::size_t at = first_switch(from);
  if (at != from)
    links.push_back(static_cast<std::size_t>(
        std::find_if(ways_.begin(), ways_.end(),
                     [&](const LinkWay& way) { return way.from == from; }) -
        ways_.begin()));
  std::set<std::size_t> seen;
  while (at != end) {
    if (!seen.insert(at).second) return {};
    const auto port = std::find_if(nodes_[at].begin(), nodes_[at].end(), [&](const auto& one) {
      return std::all_of(to.begin(), to.end(),
                         [&](const auto& each) { return has(one.second.paths, each); });
    });
    const LinkWay* const way = port == nodes_[at].end() ? nullptr : way_out(at, port->first);
    if (way == nullptr) return {};
    links.push_back(static_cast<std::size_t>(way - ways_.data()));
    at = way->to;
  }
  return links;
}

void SwitchPins::change_node(std::size_t node, std::optional<std::uint16_t> keep,
                             const Destinations& to, std::vector<PinChange>& changes) const {
  for (const auto& [number, port] : nodes_[node]) {
    Destinations next = without(port.paths, to);
    if (number == keep && next.size() + to.size() == port.paths.size()) continue;
    if (number == keep) next.insert(next.end(), to.begin(), to.end());
    if (next != port.paths) changes.push_back({node, number, std::move(next)});
  }
}

std::vector<PinChange> SwitchPins::pinning(const std::vector<std::size_t>& links,
                                           const Destinations& to) const {
  std::vector<PinChange> changes;
  for (const std::size_t link : links) {
    const LinkWay& way = ways_[link];
    if (is_host(way.from)) continue;
    const std::string& name = file_.nodes[way.from].name;
    if (!is_known(way.from)) throw std::runtime_error(name + ": does not say its paths");
    if (!nodes_[way.from].contains(way.port))
      throw std::runtime_error(name + ": has no port " + std::to_string(way.port));
    change_node(way.from, way.port, to, changes);
  }
  return changes;
}

std::vector<PinChange> SwitchPins::elsewhere(const std::vector<std::size_t>& links,
                                             const Destinations& to) const {
  std::vector<PinChange> changes;
  for (std::size_t node = 0; node < nodes_.size(); ++node)
    if (std::none_of(links.begin(), links.end(),
                     [&](std::size_t link) { return ways_[link].from == node; }))
      change_node(node, std::nullopt, to, changes);
  return changes;
}

std::vector<PinChange> SwitchPins::whole(std::vector<PinChange> changes,
                                         const Destinations& to) const {
  const std::vector<PinChange> asked = changes;
  const auto is_asked = [&](std::size_t node, std::optional<std::uint16_t> port) {
    return std::any_of(asked.begin(), asked.end(), [&](const PinChange& one) {
      return one.node == node && one.port == port.value_or(one.port);
    });
  };
  const auto is_pinned = [&](const Port& port) {
    return std::any_of(to.begin(), to.end(), [&](const auto& one) { return has(port.paths, one); });
  };
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    const bool is_of_it = is_asked(node, std::nullopt) ||
                          std::any_of(nodes_[node].begin(), nodes_[node].end(),
                                      [&](const auto& one) { return is_pinned(one.second); });
    if (!is_of_it) continue;
    for (const auto& [number, port] : nodes_[node])
      if (!is_asked(node, number) && (is_pinned(port) || way_out(node, number) != nullptr))
        changes.push_back({node, number, port.paths});
  }
  return changes;
}

std::optional<std::uint16_t> SwitchPins::port_of(std::size_t node,
                                                 const config::PathDestination& to,
                                                 const std::vector<PinChange>& changes) const {
  std::optional<std::uint16_t> best;
  int longest = -1;
  for (const auto& [number, port] : nodes_[node]) {
    const auto change = std::find_if(changes.begin(), changes.end(), [&](const PinChange& one) {
      return one.node == node && one.port == number;
    });
    for (const auto& path : change == changes.end() ? port.paths : change->paths) {
      const int length = path.is_mac ? 129 : path.prefix.bits;
      if (!config::contains(path, to) || length <= longest) continue;
      longest = length;
      best = number;
    }
  }
  return best;
}

std::string SwitchPins::cycle(const std::vector<PinChange>& changes, const Destinations& to) const {
  std::vector<std::string> names;
  for (const NetworkNode& node : file_.nodes) names.push_back(node.name);
  for (const config::PathDestination& one : to) {
    std::vector<config::PathStep> steps;
    for (std::size_t node = 0; node < nodes_.size(); ++node)
      for (const auto& port : {port_of(node, one, {}), port_of(node, one, changes)})
        if (const LinkWay* const way = port ? way_out(node, *port) : nullptr)
          steps.push_back({node, way->to});
    if (const auto found = config::find_cycle(steps)) return config::cycle_text(names, *found);
  }
  return "";
}

ordered_json SwitchPins::values(std::size_t told, const std::vector<PinChange>& changes) const {
  ordered_json values = ordered_json::object();
  const bool own_only = file_.nodes[told].own_file;
  for (const PinChange& change : changes) {
    if (own_only && change.node != told) continue;
    const std::string key = "ports." + nodes_[change.node].at(change.port).name + ".paths";
    const std::string whose = own_only ? "" : "switches." + file_.nodes[change.node].name + ".";
    values[whose + key] = list_text(change.paths);
  }
  return values;
}

}  // namespace tributary::telemetryd
