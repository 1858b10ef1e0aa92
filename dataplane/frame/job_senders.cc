#include "dataplane/frame/job_senders.h"

#include <algorithm>

#include "config/model/host_port.h"
#include "config/plan/port_places.h"
#include "config/text/lift.h"
#include "core/net/arp.h"
#include "core/net/fragment.h"

namespace tributary::dataplane {
namespace {

using wire::be16;

PortMask ports_named(const config::SwitchConfig& config, const std::string& name) {
  PortMask ports = 0;
  for (std::uint16_t place = 0; place < config.ports.size(); ++place)
    if (!config::is_vacant(config.ports[place]) && config.ports[place].name == name)
      ports |= mask_of(place);
  return ports;
}

std::uint32_t ipv4_of(const config::IpPrefix& prefix) {
  wire::be32 address;
  std::memcpy(&address, prefix.address.data(), sizeof address);
  return address;
}

// False for a packet that shows no port: it has options, or another protocol.
bool find_udp_destination(const wire::EthernetView& frame, std::uint16_t& port) {
  constexpr auto kNoOptions = std::byte{0x45};
  constexpr auto kUdp = std::byte{17};
  constexpr std::size_t kProtocol = 9;
  const auto& ip = frame.payload;
  if (ip.size() < wire::kIpv4Bytes + wire::kUdpBytes || ip[0] != kNoOptions ||
      ip[kProtocol] != kUdp)
    return false;
  be16 to;
  std::memcpy(&to, ip.data() + wire::kIpv4Bytes + sizeof to, sizeof to);
  port = to;
  return true;
}

}  // namespace

JobSenders::JobSenders(const config::SwitchConfig& config) : udp_first_(config.udp_base_port) {
  for (const config::JobConfig& job : config.jobs) {
    const std::uint32_t group = config::job_group_ipv4(job.id);
    groups_.push_back(group);
    if (job.parent)
      senders_.push_back({group, job.parent->ipv4, ports_named(config, job.parent->uplink)});
    if (job.notify != wire::Notify::direct) continue;
    for (const config::CompletionHost& host : config.completion.hosts)
      if (config::is_among(job.completion_hosts, host.name))
        hosts_.push_back(
            {group, host.ipv4, ports_named(config, config::port_toward(config, host))});
  }
  senders_.insert(senders_.end(), hosts_.begin(), hosts_.end());
  std::sort(groups_.begin(), groups_.end());
  add_places(config);
}

void JobSenders::add_places(const config::SwitchConfig& config) {
  for (const config::RouteConfig& route : config.routes)
    places_.push_back({route.to, ports_named(config, route.port)});
  for (std::uint16_t place = 0; place < config.ports.size(); ++place)
    for (const config::PathDestination& to : config.ports[place].paths)
      if (!to.is_mac && !to.prefix.is_ipv6)
        places_.push_back({{ipv4_of(to.prefix), to.prefix.bits}, mask_of(place)});
  std::stable_sort(places_.begin(), places_.end(),
                   [](const Place& a, const Place& b) { return a.prefix.bits > b.prefix.bits; });
}

bool JobSenders::leads_to(std::uint16_t port, std::uint32_t ipv4) const {
  const auto place = std::find_if(places_.begin(), places_.end(),
                                  [&](const Place& p) { return p.prefix.contains(ipv4); });
  return place != places_.end() && (place->ports & mask_of(port)) != 0;
}

DropReason JobSenders::judge_group(std::uint16_t port, std::uint32_t source,
                                   std::uint32_t group) const {
  if (!std::binary_search(groups_.begin(), groups_.end(), group)) return DropReason::none;
  for (const Sender& sender : senders_)
    if (sender.group == group && sender.ipv4 == source)
      return (sender.ports & mask_of(port)) != 0 ? DropReason::none
                                                 : DropReason::wrong_ingress_port;
  return leads_to(port, source) ? DropReason::none : DropReason::sender_mismatch;
}

DropReason JobSenders::judge_host(std::uint16_t port, const wire::EthernetView& frame,
                                  std::uint32_t source) const {
  const auto host =
      std::find_if(hosts_.begin(), hosts_.end(), [&](const Sender& h) { return h.ipv4 == source; });
  if (host == hosts_.end() || (host->ports & mask_of(port)) != 0) return DropReason::none;
  std::uint16_t to = 0;
  const bool to_job = find_udp_destination(frame, to) && to >= udp_first_ &&
                      to <= config::hosting_udp_port(udp_first_);
  return to_job || wire::is_fragment4(frame.payload) ? DropReason::wrong_ingress_port
                                                     : DropReason::none;
}

DropReason JobSenders::judge_arp(std::uint16_t port, const wire::EthernetView& frame) const {
  const auto arp = wire::parse_arp(frame.payload);
  if (!arp) return DropReason::none;
  for (const Sender& host : hosts_)
    if (host.ipv4 == arp->sender_ip && (host.ports & mask_of(port)) == 0)
      return DropReason::wrong_ingress_port;
  return DropReason::none;
}

// As judge_stacked_tags(), which has refused a frame with more tags.
DropReason JobSenders::judge_tagged(std::uint16_t port, wire::EthernetView frame) const {
  constexpr std::uint16_t kVlanId = 0x0FFF;
  while (is_vlan_tag(frame.ether_type))
    if (wire::take_vlan_tag(frame) != DropReason::none || (*frame.vlan_tci & kVlanId) != 0)
      return DropReason::none;
  return judge(port, frame);
}

}  // namespace tributary::dataplane
