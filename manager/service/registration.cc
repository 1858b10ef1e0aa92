#include "manager/service/registration.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>

#include "config/text/codec.h"
#include "config/topology/topology_tree.h"

namespace tributary::manager {

std::string mismatch(const config::Topology& topology, const SwitchRegistration& registration) {
  const auto at = config::find_switch(topology, registration.name);
  if (!at) {
    std::vector<std::string> names;
    for (const auto& sw : topology.switches) names.push_back(sw.config.name);
    return "the topology has no switch " + registration.name +
           "; it has: " + boost::algorithm::join(names, ", ");
  }
  const config::SwitchConfig& wanted = topology.switches[*at].config;
  const std::string address = config::format_ipv4(wanted.ipv4);
  if (registration.address != address)
    return "switch " + registration.name + " has address " + registration.address +
           ", and the topology says " + address;
  if (registration.id != 0 && registration.id != wanted.id)
    return "switch " + registration.name + " has id " + std::to_string(registration.id) +
           ", and the topology says " + std::to_string(wanted.id);
  for (const auto& port : wanted.ports)
    if (std::find(registration.ports.begin(), registration.ports.end(), port.name) ==
        registration.ports.end())
      return "switch " + registration.name + " has no port " + port.name +
             ", which the topology has; it has: " +
             boost::algorithm::join(registration.ports, ", ");
  return "";
}

}  // namespace tributary::manager
