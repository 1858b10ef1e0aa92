#include "telemetry/wire/path_of.h"

#include <algorithm>
#include <cstring>

#include "core/net/frame.h"
#include "telemetry/wire/bytes.h"

namespace tributary::telemetry {
namespace {

FlowKey flow_of(std::span<const std::byte> packet, const UdpPlace& place, bool has_ports = true) {
  FlowKey key;
  if (place.ipv6) {
    std::memcpy(key.source.data(), packet.data() + place.ip + 8, key.source.size());
    std::memcpy(key.destination.data(), packet.data() + place.ip + 24, key.destination.size());
  } else {
    for (auto* address : {&key.source, &key.destination}) (*address)[10] = (*address)[11] = 0xFF;
    std::memcpy(key.source.data() + 12, packet.data() + place.ip + 12, 4);
    std::memcpy(key.destination.data() + 12, packet.data() + place.ip + 16, 4);
  }
  if (!has_ports) return key;
  key.source_port = load<std::uint16_t>(packet, place.udp);
  key.destination_port = load<std::uint16_t>(packet, place.udp + 2);
  return key;
}

// The flow of an IP packet that find_udp_at() does not take, with ports if they are there.
bool other_flow(std::span<const std::byte> packet, std::size_t ip, FlowKey& flow) {
  if (packet.size() < ip + wire::kIpv4Bytes) return false;
  UdpPlace place;
  place.ip = ip;
  const unsigned version = load8(packet, ip) >> 4;
  place.ipv6 = version == 6;
  if (place.ipv6 ? packet.size() < ip + wire::kIpv6Bytes : version != 4) return false;
  const std::size_t header = place.ipv6 ? wire::kIpv6Bytes : (load8(packet, ip) & 0xF) * 4u;
  const std::uint8_t protocol = load8(packet, ip + (place.ipv6 ? 6 : 9));
  const bool later_fragment = !place.ipv6 && (load<std::uint16_t>(packet, ip + 6) & 0x1FFF) != 0;
  place.udp = ip + header;
  const bool has_ports = (protocol == 6 || protocol == 17 || protocol == 132) && !later_fragment &&
                         packet.size() >= place.udp + 4;
  flow = flow_of(packet, place, has_ports);
  flow.protocol = protocol;
  return true;
}

// Finds the IP header of the truncated packet, and UDP behind it.
bool find_packet(const Report& report, UdpPlace& place, Outcome& outcome) {
  outcome = Outcome::absent;
  place.ip = report.inner_type == InnerType::ethernet ? wire::kEthernetBytes : 0;
  if (report.inner_type == InnerType::ethernet) {
    if (report.inner.size() < wire::kEthernetBytes) {
      outcome = Outcome::truncated;
      return true;
    }
    const auto type = load<std::uint16_t>(report.inner, wire::kEthernetBytes - 2);
    if (type != wire::kEtherTypeIpv4 && type != wire::kEtherTypeIpv6) return false;
  } else if (report.inner_type != InnerType::ipv4 && report.inner_type != InnerType::ipv6) {
    return false;
  }
  outcome = find_udp_at(report.inner, place.ip, false, place);
  return true;
}

}  // namespace

Outcome path_of(const Report& report, std::uint32_t node, const Marking& marking,
                ReportedPath& path) {
  path.count = 0;
  path.has_flow = path.has_source = path.is_single = false;
  if (report.type == ReportType::in_band && report.bitmap != 0)
    path.hops[path.count++] = report.hop(node);
  UdpPlace place;
  Outcome outcome = Outcome::absent;
  if (!find_packet(report, place, outcome)) return outcome;
  // UDP too, in fragments or behind IPv4 options.
  FlowKey other;
  const bool is_ip = other_flow(report.inner, place.ip, other);
  if (outcome == Outcome::not_udp || (is_ip && other.protocol != FlowKey().protocol)) {
    path.has_flow = path.is_single = is_ip;
    path.flow = other;
    return Outcome::absent;
  }
  if (outcome != Outcome::done) return outcome;
  path.has_flow = true;
  path.flow = flow_of(report.inner, place);
  path.is_single = !is_marked(report.inner, place, marking);
  if (path.is_single) return Outcome::absent;
  const std::size_t there = std::min(report.inner.size(), place.end);
  IntView view;
  outcome = parse_int(report.inner.subspan(place.payload(), there - place.payload()), view);
  if (outcome != Outcome::done) return outcome;
  if (view.next_protocol == 1) path.flow.destination_port = view.original;
  const std::size_t hops = std::min(view.hops(), kMostHops - path.count);
  for (std::size_t i = 0; i < hops; ++i) path.hops[path.count++] = view.hop(i);
  path.has_source = hops == view.hops();
  return Outcome::done;
}

}  // namespace tributary::telemetry
