#include "telemetry/wire/path_of.h"

#include <algorithm>
#include <cstring>

#include "core/net/frame.h"
#include "telemetry/wire/bytes.h"

namespace tributary::telemetry {
namespace {

FlowKey flow_of(std::span<const std::byte> packet, const UdpPlace& place) {
  FlowKey key;
  if (place.ipv6) {
    std::memcpy(key.source.data(), packet.data() + place.ip + 8, key.source.size());
    std::memcpy(key.destination.data(), packet.data() + place.ip + 24, key.destination.size());
  } else {
    for (auto* address : {&key.source, &key.destination}) (*address)[10] = (*address)[11] = 0xFF;
    std::memcpy(key.source.data() + 12, packet.data() + place.ip + 12, 4);
    std::memcpy(key.destination.data() + 12, packet.data() + place.ip + 16, 4);
  }
  key.source_port = load<std::uint16_t>(packet, place.udp);
  key.destination_port = load<std::uint16_t>(packet, place.udp + 2);
  return key;
}

// Where the IP header of the truncated packet begins.
bool find_packet(const Report& report, UdpPlace& place, Outcome& outcome) {
  switch (report.inner_type) {
    case InnerType::ipv4:
    case InnerType::ipv6: outcome = find_udp_at(report.inner, 0, false, place); return true;
    case InnerType::ethernet:
      outcome = report.inner.size() < wire::kEthernetBytes
                    ? Outcome::truncated
                    : find_udp_at(report.inner, wire::kEthernetBytes, false, place);
      return true;
    default: outcome = Outcome::absent; return false;
  }
}

}  // namespace

Outcome path_of(const Report& report, std::uint32_t node, const Marking& marking,
                ReportedPath& path) {
  path.count = 0;
  path.has_flow = path.has_source = false;
  if (report.type == ReportType::in_band && report.bitmap != 0)
    path.hops[path.count++] = report.hop(node);
  UdpPlace place;
  Outcome outcome = Outcome::absent;
  if (!find_packet(report, place, outcome) || outcome != Outcome::done) return outcome;
  path.has_flow = true;
  path.flow = flow_of(report.inner, place);
  if (!is_marked(report.inner, place, marking)) return Outcome::absent;
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
