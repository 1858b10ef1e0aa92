// Keys for traffic that is not aggregation.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/field.h"

namespace tributary::config {

// A MAC address, an IP address, or a prefix without bits beyond it.
Codec<PathDestination> path_destination();
// "10.77.0.2/32": as in path_destination(), without quotes.
std::string text_of(const PathDestination& to);
const Fields<PortVlan>& port_vlan_fields();
const Fields<PortStorm>& port_storm_fields();
const Fields<SnoopingConfig>& snooping_fields();
const Fields<LldpConfig>& lldp_fields();
const Fields<RouteConfig>& route_fields();

}  // namespace tributary::config
