#include "dataplane/udp/frame_writer.h"

#include <algorithm>
#include <cstring>

#include "core/net/udp_peer.h"
#include "core/wire/ecn.h"
#include "dataplane/frontend/packet_bytes.h"

namespace tributary::dataplane {

Identity identity_of(const config::SwitchConfig& config) {
  std::uint16_t ports = 1;
  for (const auto& job : config.jobs)
    ports = std::max(ports, static_cast<std::uint16_t>(config::udp_ports(job)));
  Identity identity{config.mac.value_or(config::derived_mac(config.ipv4)),
                    config.ipv4,
                    config.udp_base_port,
                    ports,
                    config::hosts_engines(config) ? config::hosting_udp_port(config.udp_base_port)
                                                  : std::uint16_t{0},
                    {}};
  identity.takes_fragments = config::takes_fragments(config);
  identity.takes_rdma = config::takes_rdma(config);
  identity.probes_links = config::probes_links(config.telemetry);
  identity.reserved = static_cast<const config::ReservedGroups&>(config.forwarding);
  for (const auto& route : config.routes) identity.hears_arp = identity.hears_arp || route.via;
  for (const auto& job : config.jobs)
    if (job.parent) identity.parents.push_back({config::job_group_ipv4(job.id), job.parent->ipv4});
  return identity;
}

FrameWriter::FrameWriter(const config::SwitchConfig& config) : identity_(identity_of(config)) {
  for (const auto& job : config.jobs) {
    if (job.integrity == wire::Integrity::crc32c) crc32c_jobs_.insert(job.id);
    if (job.integrity == wire::Integrity::always) checked_jobs_.insert(job.id);
    if (job.planes > 1) shards_.emplace(job.id, job.shards);
    if (job.parent) parents_.emplace(job.id, Parent{job.parent->ipv4, job.parent->mac});
  }
}

std::uint16_t FrameWriter::port_of(const wire::Header& h, std::uint8_t shard) const {
  std::uint32_t place = shard;
  if (h.plane != 0)
    if (const auto shards = shards_.find(h.job); shards != shards_.end())
      place += std::uint32_t{h.plane} * shards->second;
  // An answer may echo a shard or a plane that this switch does not have.
  if (place >= identity_.udp_count) place = 0;
  return static_cast<std::uint16_t>(identity_.udp_first + place);
}

std::size_t FrameWriter::write(const aggregator::Outgoing& message, const UdpCopy& copy,
                               const NextHops& routers, std::span<std::byte> frame) const {
  const std::uint16_t udp_port = port_of(message.header, message.header.shard);

  wire::FrameTemplate t;
  t.source = identity_.mac;
  t.dscp_ecn = wire::ecn_of(message.header.type);
  t.endpoints.source_ip = identity_.ipv4;
  t.endpoints.source_port = udp_port;
  if (copy.member != nullptr) {
    t.endpoints.destination_ip = copy.member->ipv4;
    t.endpoints.destination_port = copy.member->udp_port;
    t.destination = copy.member->mac;
    t.vlan_tci = copy.member->vlan_tci;
  } else if (message.to == aggregator::Outgoing::To::job_group) {
    t.endpoints.destination_ip = config::job_group_ipv4(message.header.job);
    t.endpoints.destination_port = udp_port;
    t.destination = wire::multicast_mac(t.endpoints.destination_ip);
    t.vlan_tci = copy.group_vlan;
  } else if (message.to == aggregator::Outgoing::To::parent) {
    const Parent& parent = parents_.at(message.header.job);
    // A child is bound to one port whatever the shard: the plane's first, so that the hint (rule
    // 16) is right in answers, too.
    t.endpoints.source_port = port_of(message.header, 0);
    t.endpoints.destination_ip = parent.ipv4;
    t.endpoints.destination_port = udp_port;
    t.destination = parent.mac;
  } else {
    if (message.to == aggregator::Outgoing::To::hosted_root)
      t.endpoints.source_port = identity_.udp_hosting;
    const wire::UdpPeer to(message.peer);
    t.endpoints.destination_ip = to.ipv4;
    t.endpoints.destination_port = to.udp_port;
    t.destination = to.mac;
    t.vlan_tci = to.vlan_tci;
  }
  if (wire::is_zero(t.destination)) {
    const NextHop* const router = routers.toward(t.endpoints.destination_ip);
    if (router == nullptr || !router->mac) return kNoNextHop;
    t.destination = *router->mac;
  }

  const std::size_t start = wire::frame_header_bytes(t);
  if (frame.size() < start) return 0;
  const PacketBytes packet =
      write_packet(message, crc32c_jobs_.contains(message.header.job), frame.subspan(start));
  if (packet.bytes == 0) return 0;
  t.udp_checksum =
      !packet.sealed && !(copy.unchecked && !checked_jobs_.contains(message.header.job));
  return wire::write_frame_headers(t, frame, packet.bytes);
}

std::size_t FrameWriter::write(std::uint32_t job, const worker::memif::ResultReference& result,
                               std::span<std::byte> frame) const {
  const wire::MacAddress group = wire::multicast_mac(config::job_group_ipv4(job));
  const wire::be16 type = worker::memif::kEtherTypeResult;
  const std::size_t bytes = wire::kEthernetBytes + sizeof result;
  if (frame.size() < bytes) return 0;
  std::memcpy(frame.data(), &group, sizeof group);
  std::memcpy(frame.data() + sizeof group, &identity_.mac, sizeof identity_.mac);
  std::memcpy(frame.data() + 2 * sizeof group, &type, sizeof type);
  std::memcpy(frame.data() + wire::kEthernetBytes, &result, sizeof result);
  return bytes;
}

}  // namespace tributary::dataplane
