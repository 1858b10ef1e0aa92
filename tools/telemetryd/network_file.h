// The network as --topology tells it: nodes, links between their ports, the pairs of nodes whose
// best path is to be found, and the switches whose way up follows the best one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/model/path_destination.h"
#include "config/text/field.h"
#include "core/time.h"
#include "telemetry/path/best_path.h"
#include "telemetry/path/decision_timer.h"

namespace tributary::telemetryd {

struct NetworkNode {
  std::string name;
  std::uint32_t id = 0;  // of a switch in telemetry; 0: a host, of which nothing is reported
  std::uint32_t reports_from = 0;    // IPv4 address in host order; 0: not given
  std::string reports_through = {};  // this host's interface for its reports; empty: any
  std::string control = {};          // path of the switch's control socket; empty: not given
  bool own_file = false;  // the switch has a file of its own, and hears of no other's paths
};
// Both ways; `port` and `port_there` are numbers as in `tributary show ports`.
struct NetworkLink {
  std::string from;
  std::uint16_t port = 0;
  std::string to;
  std::uint16_t port_there = 0;
  std::uint32_t mbps = 10'000;
};
struct NetworkPath {
  std::string from;
  std::string to;
  telemetry::PathGoal goal = telemetry::PathGoal::least_latency;
  // Addresses that switches send along the best path; none: the path is only shown.
  std::vector<config::PathDestination> destinations = {};
  Duration least_gain = Duration::us(20);
  Duration settle = Duration::ms(200);
  Duration hold = Duration::seconds(5);
};
// A way up of a switch, as its topology names it, and the number of its port.
struct NetworkUplink {
  std::string name;
  std::uint16_t port = 0;
};
// A switch that is told which of its ways up it uses.
struct NetworkTree {
  std::string child;
  std::string to;  // the next switch above that sums
  std::vector<NetworkUplink> uplinks;
  Duration least_gain = Duration::us(200);
  Duration settle = Duration::ms(200);
  Duration hold = Duration::seconds(5);
};
// The manager that assigns the switches' jobs, and moves their trees; PEM files for HOST:PORT.
struct NetworkManager {
  std::string address;  // unix:PATH or HOST:PORT, several with commas between; empty: there is none
  std::string ca;
  std::string certificate;
  std::string key;
};
struct NetworkFile {
  std::vector<NetworkNode> nodes;
  std::vector<NetworkLink> links;
  std::vector<NetworkPath> paths;
  std::vector<NetworkTree> trees;
  NetworkManager manager;
  telemetry::DecisionRule decide;  // when the best paths are looked for
  std::string key_file = {};       // of the key that signs reports; empty: signatures do not count
};

const char* name_of(telemetry::PathGoal goal);
// One way over a link, by indices of nodes.
struct LinkWay {
  std::size_t from = 0;
  std::size_t to = 0;
  std::uint16_t port = 0;  // of `from`
  std::uint32_t mbps = 0;
};
// Both ways over each link: from `from`, then back.
std::vector<LinkWay> ways_of(const NetworkFile& file);
// Index of the node; nodes.size() if there is none.
std::size_t index_of(const NetworkFile& file, const std::string& node);
// Throws config::ConfigErrors. `file_name` is only what errors call the text.
NetworkFile parse_network(std::string_view text, const std::string& file_name);
std::vector<config::KeyInfo> describe_network_schema();

}  // namespace tributary::telemetryd
