#include "config/schema/schema_forwarding.h"

#include "config/schema/schema.h"
#include "config/schema/schema_acl.h"

namespace tributary::config {
namespace {

Codec<Ipv4Prefix> ipv4_prefix() {
  return {"IPv4 prefix", "an IPv4 prefix such as 10.1.0.0/16, or 0.0.0.0/0",
          [](const Node& node, Ipv4Prefix& out) -> std::optional<std::string> {
            const std::string_view text = node.text;
            const std::size_t slash = text.find('/');
            if (slash == std::string_view::npos) return "has no length";
            const auto address = parse_ipv4(text.substr(0, slash));
            const auto bits = parse_integer(text.substr(slash + 1));
            if (!address || !bits || *bits < 0 || *bits > 32) return "is not an IPv4 prefix";
            if (*bits < 32 && (*address << *bits) != 0) return "has bits beyond its prefix";
            out = {*address, static_cast<std::uint8_t>(*bits)};
            return std::nullopt;
          },
          [](const Ipv4Prefix& prefix) {
            return std::optional(format_ipv4(prefix.address) + '/' + std::to_string(prefix.bits));
          }};
}

}  // namespace

Codec<PathDestination> path_destination() {
  return {"destination", "a unicast MAC address, an IP address, or a prefix such as 10.0.0.0/8",
          [](const Node& node, PathDestination& out) -> std::optional<std::string> {
            out = {};
            out.is_mac = parse_mac(node.text).has_value();
            return out.is_mac ? unicast_mac().parse(node, out.mac)
                              : ip_prefix().parse(node, out.prefix);
          },
          [](const PathDestination& to) {
            return to.is_mac ? unicast_mac().format(to.mac) : ip_prefix().format(to.prefix);
          }};
}

std::string text_of(const PathDestination& to) {
  std::string text = path_destination().format(to).value_or("");
  std::erase(text, '"');
  return text;
}

const Fields<PortVlan>& port_vlan_fields() {
  static const Fields<PortVlan> fields = {
      choice<PortVlan, VlanMode>(
          "mode", &PortVlan::mode,
          {{"transparent", VlanMode::transparent},
           {"access", VlanMode::access},
           {"trunk", VlanMode::trunk},
           {"none", VlanMode::none},
           {"paths", VlanMode::paths}},
          "`transparent`: every VLAN, frames as they are; `access`: one VLAN, untagged; `trunk`: "
          "the allowed VLANs, tagged; `none`: no frame but LLDP and probes of the link, which "
          "neighbours exchange; `paths`: the same, and frames to one address whose way is known: "
          "nothing is learned or flooded there, or goes to a group."),
      scalar("id", &PortVlan::id, or_absent(integer<std::uint16_t>(1, kMaxVlan)),
             "The VLAN of an access port, which needs one. Frames with a tag are dropped; a tag "
             "that has a priority only (VLAN 0) is none."),
      scalars("allowed", &PortVlan::allowed, number_range("VLANs", 1, kMaxVlan), 0, kMaxVlanRanges,
              "VLANs of a trunk. Left out: all."),
      scalar("native", &PortVlan::native, or_absent(integer<std::uint16_t>(1, kMaxVlan)),
             "VLAN of a trunk's untagged frames, both ways; it is allowed. Left out: frames "
             "without a tag are dropped."),
  };
  return fields;
}

const Fields<PortStorm>& port_storm_fields() {
  const auto limit = integer<std::uint32_t>(0, kMaxStormPps);
  static const Fields<PortStorm> fields = {
      scalar("broadcast", &PortStorm::broadcast_pps, limit,
             "Broadcast frames from the port that are forwarded, a second. 0: no limit."),
      scalar("multicast", &PortStorm::multicast_pps, limit, "The same of frames to groups."),
      scalar("unknown_unicast", &PortStorm::unknown_unicast_pps, limit,
             "The same of frames to an address that is not known, and are flooded."),
  };
  return fields;
}

const Fields<SnoopingConfig>& snooping_fields() {
  using S = SnoopingConfig;
  static const Fields<S> fields = {
      scalar("enabled", &S::enabled, boolean(),
             "On: frames to a group go to ports that have asked for it, in VLANs where a querier "
             "speaks. Off: to every port of the VLAN."),
      scalar("groups", &S::groups, power_of_two<std::uint32_t>(16, kMaxGroups),
             "Groups that the switch can know, in all VLANs together."),
      scalar("membership", &S::membership, duration(Duration::seconds(1), Duration::seconds(86400)),
             "Silence after which a port is taken to want a group no longer."),
      scalar("router_ageing", &S::router_ageing,
             duration(Duration::seconds(1), Duration::seconds(86400)),
             "Silence after which a querier, or a router behind a port, counts as gone."),
      scalar("leave_delay", &S::leave_delay, duration(Duration::us(0), Duration::seconds(60)),
             "How long a port still gets a group that a host there has left: other hosts there may "
             "say that they stay."),
      scalars("router_ports", &S::router_ports, identifier(), 0, kMaxPorts,
              "Names of ports that get every group, besides those where queries come in."),
      scalars(
          "host_ports", &S::host_ports, identifier(), 0, kMaxPorts,
          "Names of ports with hosts only: a query that comes in there is dropped, and the port "
          "does not become one of a router or querier, which would get groups or reports."),
      scalar("flood_unknown", &S::flood_unknown, boolean(),
             "On: groups that no port has asked for go to every port. Off: to routers only."),
  };
  return fields;
}

const Fields<LldpConfig>& lldp_fields() {
  using L = LldpConfig;
  static const Fields<L> fields = {
      scalar("enabled", &L::enabled, boolean(),
             "On: the switch announces itself on every port, and remembers its neighbours there. "
             "Off: it sends nothing, and LLDP frames are dropped."),
      scalar("interval", &L::interval,
             duration(Duration::seconds(1), Duration::seconds(kMaxLldpIntervalSeconds)),
             "How often it says so."),
      scalar("hold", &L::hold, integer<std::uint32_t>(2, kMaxLldpHold),
             "Intervals for which neighbours are to believe it."),
  };
  return fields;
}

const Fields<RouteConfig>& route_fields() {
  using R = RouteConfig;
  static const Fields<R> fields = {
      scalar("to", &R::to, ipv4_prefix(),
             "Addresses that the route leads to; each prefix once. Of several that an address is "
             "in, the longest counts.",
             Presence::required),
      scalar("via", &R::via, or_absent(host_ipv4()),
             "Address of the router, which is on the link. Left out: what is in `to` is on the "
             "link itself."),
      scalar("port", &R::port, identifier(),
             "Name of the port that the router is behind; required with `via`."),
  };
  return fields;
}

std::string text_of(const PortVlan& port) {
  if (port.mode == VlanMode::transparent) return "transparent";
  if (port.mode == VlanMode::none) return "none";
  if (port.mode == VlanMode::paths) return "paths";
  if (port.mode == VlanMode::access) return "access " + std::to_string(port.id.value_or(0));
  std::string text;
  for (const NumberRange& range : port.allowed)
    text.append(text.empty() ? "" : ",").append(text_of(range));
  text = "trunk " + (text.empty() ? "all" : text);
  if (port.native) text.append(" native ").append(std::to_string(*port.native));
  return text;
}

}  // namespace tributary::config
