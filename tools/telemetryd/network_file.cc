#include "tools/telemetryd/network_file.h"

#include <net/if.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "config/schema/schema_forwarding.h"
#include "config/text/codec.h"
#include "config/text/file.h"

namespace tributary::telemetryd {
namespace {

using config::Fields;
using config::integer;
using config::item_path;
using config::Presence;
using telemetry::DecideAt;
using telemetry::DecisionRule;
using telemetry::PathGoal;

// Loopback is allowed: a whole tree may run on one machine.
config::Codec<std::uint32_t> sender_ipv4() {
  return {"IPv4 address", "an IPv4 address such as 10.0.0.7",
          [](const config::Node& node, std::uint32_t& out) -> std::optional<std::string> {
            const auto value = config::parse_ipv4(node.text);
            if (!value || *value == 0) return "is no address of a switch";
            out = *value;
            return std::nullopt;
          },
          [](const std::uint32_t& value) {
            return value == 0 ? std::nullopt : std::optional(config::format_ipv4(value));
          }};
}

bool is_address(std::string_view part) {
  constexpr std::string_view kUnix = "unix:";
  if (part.starts_with(kUnix)) return part.size() > kUnix.size();
  const std::size_t colon = part.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const auto port = config::parse_integer(part.substr(colon + 1));
  return port && *port >= 1 && *port <= 65535;
}

config::Codec<std::string> manager_address() {
  return {
      "address", "unix:PATH or HOST:PORT, or several with commas between",
      [](const config::Node& node, std::string& out) -> std::optional<std::string> {
        std::string_view rest = node.text;
        for (std::size_t comma = 0; comma != std::string_view::npos;) {
          comma = rest.find(',');
          if (!is_address(rest.substr(0, comma))) return "is no address of a manager";
          if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
        }
        out = node.text;
        return std::nullopt;
      },
      [](const std::string& value) { return value.empty() ? std::nullopt : std::optional(value); }};
}

const Fields<NetworkManager>& manager_fields() {
  using M = NetworkManager;
  static const Fields<M> manager = {
      config::scalar("address", &M::address, manager_address(),
                     "Where tributary-managerd listens."),
      config::scalar("tls_ca", &M::ca, config::absolute_path(),
                     "PEM of the manager's authority, for HOST:PORT."),
      config::scalar("tls_cert", &M::certificate, config::absolute_path(),
                     "PEM of the own certificate, an operator's."),
      config::scalar("tls_key", &M::key, config::absolute_path(), "PEM of its key.")};
  return manager;
}

const Fields<NetworkNode>& node_fields() {
  static const Fields<NetworkNode> nodes = {
      config::scalar("name", &NetworkNode::name, config::identifier(), "Unique.",
                     Presence::required),
      config::scalar("id", &NetworkNode::id, integer<std::uint32_t>(0, 0xFFFFFFFE),
                     "`switch.telemetry.node_id`; 0: a host."),
      config::scalar("reports_from", &NetworkNode::reports_from, sender_ipv4(),
                     "Where the switch's reports come from."),
      config::scalar("reports_through", &NetworkNode::reports_through, config::identifier(),
                     "Interface of this host that they come in through; not given: any."),
      config::scalar("control", &NetworkNode::control, config::socket_path(),
                     "The switch's control socket, for `trees` and `paths[].destinations`."),
      config::scalar("own_file", &NetworkNode::own_file, config::boolean(),
                     "The switch's file is not the topology of all switches.")};
  return nodes;
}

const Fields<DecisionRule>& decide_fields() {
  static const Fields<DecisionRule> decide = {
      config::choice(
          "at", &DecisionRule::at,
          {{"timer", DecideAt::timer}, {"op-end", DecideAt::op_end}, {"change", DecideAt::change}},
          "timer: ten times a second. op-end: when jobs' ops have ended, and after a "
          "second without. change: then, if a link's figures have changed by a fifth, "
          "and after a second in any case."),
      config::scalar("ops", &DecisionRule::ops, integer<std::uint32_t>(1, 1'000'000),
                     "After so many ops of all jobs, for op-end and change.")};
  return decide;
}

const Fields<NetworkFile>& network_fields() {
  using L = NetworkLink;
  static const Fields<L> links = {
      config::scalar("from", &L::from, config::identifier(), "A node.", Presence::required),
      config::scalar("port", &L::port, integer<std::uint16_t>(0, 65534),
                     "Egress port of `from`, by number."),
      config::scalar("to", &L::to, config::identifier(), "Another node.", Presence::required),
      config::scalar("port_there", &L::port_there, integer<std::uint16_t>(0, 65534),
                     "Ingress port of `to`, by number."),
      config::scalar("mbps", &L::mbps, integer<std::uint32_t>(1, 1'000'000), "Capacity.")};
  static const Fields<NetworkPath> paths = {
      config::scalar("from", &NetworkPath::from, config::identifier(), "A node.",
                     Presence::required),
      config::scalar("to", &NetworkPath::to, config::identifier(), "Another node.",
                     Presence::required),
      config::choice("goal", &NetworkPath::goal,
                     {{name_of(PathGoal::least_latency), PathGoal::least_latency},
                      {name_of(PathGoal::most_bandwidth), PathGoal::most_bandwidth},
                      {name_of(PathGoal::fewest_hops), PathGoal::fewest_hops}},
                     "Criterion of the best path."),
      config::scalars("destinations", &NetworkPath::destinations, config::path_destination(), 0, 64,
                      "Addresses that the switches send along the path; none: it is only shown."),
      config::scalar("least_gain", &NetworkPath::least_gain,
                     config::duration(Duration(), Duration::seconds(1)),
                     "Latency that a move has to gain, beside a fifth."),
      config::scalar("settle", &NetworkPath::settle,
                     config::duration(Duration(), Duration::seconds(60)),
                     "How long the other path has to be better."),
      config::scalar("hold", &NetworkPath::hold,
                     config::duration(Duration(), Duration::seconds(3600)),
                     "No further move for so long.")};
  using T = NetworkTree;
  static const Fields<NetworkUplink> uplinks = {
      config::scalar("name", &NetworkUplink::name, config::identifier(),
                     "Name of the way up in the switches' topology.", Presence::required),
      config::scalar("port", &NetworkUplink::port, integer<std::uint16_t>(0, 65534),
                     "Its port, by number.")};
  static const Fields<T> trees = {
      config::scalar("switch", &T::child, config::identifier(), "A switch with several ways up.",
                     Presence::required),
      config::scalar("to", &T::to, config::identifier(), "The next switch above that sums.",
                     Presence::required),
      config::list("uplinks", &T::uplinks, uplinks, 2, 8, "The ways up."),
      config::scalar("least_gain", &T::least_gain,
                     config::duration(Duration(), Duration::seconds(1)),
                     "Latency that a move has to gain, beside a fifth."),
      config::scalar("settle", &T::settle, config::duration(Duration(), Duration::seconds(60)),
                     "How long the other way has to be better."),
      config::scalar("hold", &T::hold, config::duration(Duration(), Duration::seconds(3600)),
                     "No further move for so long.")};
  static const Fields<NetworkFile> all = {
      config::list("nodes", &NetworkFile::nodes, node_fields(), 2, 1024, "Switches and hosts."),
      config::list("links", &NetworkFile::links, links, 1, 4096, "Between their ports."),
      config::list("paths", &NetworkFile::paths, paths, 0, 1024, "To be found."),
      config::list("trees", &NetworkFile::trees, trees, 0, 256,
                   "Switches whose way up follows the best one."),
      config::mapping<NetworkFile, NetworkManager>(
          "manager", [](auto& file) -> auto& { return file.manager; }, manager_fields(),
          "The manager that assigns the switches' jobs: it moves `trees`."),
      config::mapping<NetworkFile, DecisionRule>(
          "decide", [](auto& file) -> auto& { return file.decide; }, decide_fields(),
          "When the best paths are looked for."),
      config::scalar("key_file", &NetworkFile::key_file, config::absolute_path(),
                     "File with the switches' key; reports without its signature are dropped.")};
  return all;
}

// Two ways on one port, or by one name, are one.
void check_uplinks(const NetworkFile& file, std::size_t i, config::ReadContext& context) {
  const NetworkTree& tree = file.trees[i];
  std::set<std::string> names;
  std::set<std::uint16_t> ports;
  for (std::size_t u = 0; u < tree.uplinks.size(); ++u) {
    const NetworkUplink& uplink = tree.uplinks[u];
    const std::string path = item_path(item_path("trees", i) + ".uplinks", u);
    if (!names.insert(uplink.name).second)
      context.report(path + ".name", "'" + uplink.name + "' is there already");
    if (!ports.insert(uplink.port).second)
      context.report(path + ".port", std::to_string(uplink.port) + " is there already");
    const bool has_link =
        std::any_of(file.links.begin(), file.links.end(), [&](const NetworkLink& link) {
          return (link.from == tree.child && link.port == uplink.port) ||
                 (link.to == tree.child && link.port_there == uplink.port);
        });
    if (!has_link)
      context.report(path + ".port", "port " + std::to_string(uplink.port) + " of " + tree.child +
                                         " is in none of `links`");
  }
}

void check_tree(const NetworkFile& file, std::size_t i, config::ReadContext& context) {
  const NetworkTree& tree = file.trees[i];
  const std::string path = item_path("trees", i);
  for (const auto& [key, name] : {std::pair(".switch", tree.child), std::pair(".to", tree.to)}) {
    const auto is_it = [&](const NetworkNode& node) { return node.name == name; };
    const auto node = std::find_if(file.nodes.begin(), file.nodes.end(), is_it);
    if (node == file.nodes.end())
      context.report(path + key, "there is no node '" + name + "'");
    else if (node->control.empty() && file.manager.address.empty())
      context.report(
          path + key,
          "node '" + name + "' has no `control`; allowed: a switch with one, or a `manager`");
  }
  if (tree.child == tree.to)
    context.report(path + ".to", "is where it begins; allowed: another node");
  check_uplinks(file, i, context);
}

// Each destination has one path, whose switches can all be told. Behind a host with several links,
// no switch decides which one a frame takes.
void check_destinations(const NetworkFile& file, config::ReadContext& context) {
  std::vector<std::pair<config::PathDestination, std::string>> seen;
  for (std::size_t i = 0; i < file.paths.size(); ++i) {
    const NetworkPath& path = file.paths[i];
    const std::string list = item_path("paths", i) + ".destinations";
    for (std::size_t at = 0; at < path.destinations.size(); ++at) {
      const auto is_it = [&](const auto& one) { return one.first == path.destinations[at]; };
      const auto first = std::find_if(seen.begin(), seen.end(), is_it);
      if (first != seen.end())
        context.report(item_path(list, at), "is in " + first->second + ", too; allowed: one path");
      seen.emplace_back(path.destinations[at], item_path(list, at));
    }
    if (path.destinations.empty()) continue;
    const NetworkNode& from = file.nodes[index_of(file, path.from)];
    const auto links = std::count_if(
        file.links.begin(), file.links.end(),
        [&](const NetworkLink& link) { return link.from == from.name || link.to == from.name; });
    if (from.id == 0 && links != 1)
      context.report(item_path("paths", i) + ".from",
                     "'" + from.name + "' has " + std::to_string(links) +
                         " links; allowed with `destinations`: a switch, or a host with one link");
  }
  if (seen.empty()) return;
  for (std::size_t i = 0; i < file.nodes.size(); ++i)
    if (file.nodes[i].id != 0 && file.nodes[i].control.empty())
      context.report(item_path("nodes", i) + ".control",
                     "is missing; with `destinations` of paths every switch needs one");
}

void check_manager(const NetworkManager& manager, config::ReadContext& context) {
  if (manager.address.empty() && !(manager.ca + manager.certificate + manager.key).empty())
    context.report("manager.address", "is missing; the other keys go with it");
  const int files = !manager.ca.empty() + !manager.certificate.empty() + !manager.key.empty();
  if (files % 3 != 0)
    context.report("manager", "tls_ca, tls_cert and tls_key go together; allowed: all or none");
}

void check(const NetworkFile& file, config::ReadContext& context) {
  check_manager(file.manager, context);
  std::set<std::string> names;
  std::set<std::uint32_t> ids;
  std::set<std::pair<std::string, std::uint16_t>> ports;
  for (std::size_t i = 0; i < file.nodes.size(); ++i) {
    const std::string path = item_path("nodes", i);
    if (!names.insert(file.nodes[i].name).second)
      context.report(path + ".name", "'" + file.nodes[i].name + "' is there already");
    if (file.nodes[i].reports_from != 0 && file.nodes[i].id == 0)
      context.report(path + ".reports_from", "is of switches only; allowed: with an id");
    if (!file.nodes[i].reports_through.empty() && file.nodes[i].reports_from == 0)
      context.report(path + ".reports_through", "goes with reports_from; allowed: both");
    if (file.nodes[i].reports_through.size() >= IF_NAMESIZE)
      context.report(path + ".reports_through", "is no interface's; allowed: up to 15 characters");
    if (file.nodes[i].id != 0 && !ids.insert(file.nodes[i].id).second)
      context.report(path + ".id", std::to_string(file.nodes[i].id) + " is there already");
  }
  const auto ends = [&](const std::string& path, const std::string& from, const std::string& to) {
    for (const auto& [key, name] : {std::pair(".from", from), std::pair(".to", to)})
      if (!names.contains(name)) context.report(path + key, "there is no node '" + name + "'");
    if (from == to) context.report(path + ".to", "is where it begins; allowed: another node");
  };
  for (std::size_t i = 0; i < file.links.size(); ++i) {
    const NetworkLink& link = file.links[i];
    const std::string path = item_path("links", i);
    ends(path, link.from, link.to);
    if (!ports.emplace(link.from, link.port).second)
      context.report(path + ".port", "has a link already; allowed: one for each port");
    if (!ports.emplace(link.to, link.port_there).second)
      context.report(path + ".port_there", "has a link already; allowed: one for each port");
  }
  for (std::size_t i = 0; i < file.paths.size(); ++i)
    ends(item_path("paths", i), file.paths[i].from, file.paths[i].to);
  for (std::size_t i = 0; i < file.trees.size(); ++i) check_tree(file, i, context);
  if (context.errors().empty()) check_destinations(file, context);
}

}  // namespace

const char* name_of(PathGoal goal) {
  switch (goal) {
    case PathGoal::most_bandwidth: return "most-bandwidth";
    case PathGoal::fewest_hops: return "fewest-hops";
    case PathGoal::least_latency: break;
  }
  return "least-latency";
}

std::size_t index_of(const NetworkFile& file, const std::string& node) {
  const auto is_it = [&](const NetworkNode& one) { return one.name == node; };
  return static_cast<std::size_t>(std::find_if(file.nodes.begin(), file.nodes.end(), is_it) -
                                  file.nodes.begin());
}

std::vector<LinkWay> ways_of(const NetworkFile& file) {
  std::vector<LinkWay> ways;
  for (const NetworkLink& link : file.links) {
    const std::size_t from = index_of(file, link.from);
    const std::size_t to = index_of(file, link.to);
    ways.push_back({from, to, link.port, link.mbps});
    ways.push_back({to, from, link.port_there, link.mbps});
  }
  return ways;
}

NetworkFile parse_network(std::string_view text, const std::string& file_name) {
  config::ReadContext context(file_name);
  NetworkFile file;
  config::read_mapping(context, "", config::parse_text(text, file_name), network_fields(), file);
  if (context.errors().empty()) check(file, context);
  if (!context.errors().empty()) throw config::ConfigErrors(context.errors());
  return file;
}

std::vector<config::KeyInfo> describe_network_schema() {
  std::vector<config::KeyInfo> keys;
  config::describe_fields(network_fields(), "", keys);
  return keys;
}

}  // namespace tributary::telemetryd
