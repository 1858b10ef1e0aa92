// Keys of what a switch does with traffic that is not aggregation.
#pragma once

#include "config/model/switch_config.h"
#include "config/text/field.h"

namespace tributary::config {

const Fields<PortVlan>& port_vlan_fields();
const Fields<PortStorm>& port_storm_fields();
const Fields<SnoopingConfig>& snooping_fields();
const Fields<LldpConfig>& lldp_fields();
const Fields<RouteConfig>& route_fields();

}  // namespace tributary::config
