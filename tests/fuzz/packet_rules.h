// Configurations for the packet loop's fuzzer, from two bytes: what a start decides, and what a
// reload may change.
#pragma once

#include <cstdint>

#include "config/model/switch_config.h"
#include "tests/fuzz/packet_bench.h"

namespace tributary::fuzz {

// Bits of a start.
inline constexpr std::uint8_t kTwoLoops = 1;
inline constexpr std::uint8_t kSnoops = 2;
inline constexpr std::uint8_t kFragments = 4;
inline constexpr std::uint8_t kDynamic = 8;
inline constexpr std::uint8_t kTraced = 16;
inline constexpr std::uint8_t kRdma = 32;

// Bits of a reload.
inline constexpr std::uint8_t kVlans = 1;
inline constexpr std::uint8_t kAcl = 2;
inline constexpr std::uint8_t kStorm = 4;
inline constexpr std::uint8_t kAddresses = 8;
inline constexpr std::uint8_t kLldp = 16;
inline constexpr std::uint8_t kRoute = 32;
inline constexpr std::uint8_t kSmallJob = 64;
inline constexpr std::uint8_t kNoSecondJob = 128;

inline void add_port_rules(config::SwitchConfig& config, std::uint8_t rules) {
  if ((rules & kVlans) != 0) {
    config.ports[0].vlan = {config::VlanMode::access, std::uint16_t{5}, {}, {}};
    config.ports[1].vlan = {config::VlanMode::trunk, {}, {{5, 9}}, std::uint16_t{7}};
  }
  if ((rules & kStorm) != 0) config.ports[0].storm = {3, 3, 3};
  if ((rules & kAddresses) == 0) return;
  config.ports[0].max_addresses = 2;
  config.forwarding.static_macs = {{{2, 0, 0, 0, 0, 9}, "p1"}};
}

inline void add_acl(config::SwitchConfig& config) {
  config::AclRule fine;
  fine.action = config::AclAction::allow;
  fine.protocol = 17;
  fine.destination_ports = config::NumberRange{47000, 47010};
  config::AclRule other;
  other.port = "p0";
  other.ether_type = 0x88B5;
  config::AclRule ipv6;
  ipv6.source = config::IpPrefix{true, {0xFE, 0x80}, 10};
  ipv6.protocol = 17;
  config.acl.rules = {fine, other, ipv6};
}

inline config::JobConfig packet_job(std::uint32_t id, std::uint8_t start, bool small) {
  config::JobConfig job;
  job.id = id;
  job.name = std::to_string(id);
  job.workers = id == 1 && !small ? 2 : 1;
  job.window = 4;
  job.chunk_bytes = small ? 32 : 64;
  job.deadline = Duration::ms(500);
  job.lease = Duration::seconds(2);
  if (id == 2) job.integrity = wire::Integrity::crc32c;
  job.rdma = (start & kRdma) != 0;
  if ((start & kDynamic) != 0) job.slots = config::SlotMode::dynamic;
  return job;
}

inline config::SwitchConfig packet_rules(std::uint8_t start, std::uint8_t rules) {
  config::SwitchConfig config = PacketBench::ports_config();
  config.slots = 16;
  config.forwarding.fdb_entries = 64;
  config.completion.megabytes = 1;
  if ((start & kTwoLoops) != 0) config.lcores = {-1, -1};
  if ((start & kSnoops) != 0) {
    config.forwarding.snooping.enabled = true;
    config.forwarding.snooping.groups = 16;
    config.forwarding.snooping.host_ports = {"p2"};
  }
  if ((start & kFragments) != 0) config.fragments.datagrams = 4;
  if ((start & kRdma) != 0)
    for (auto& port : config.ports) port.rdma = true;
  add_port_rules(config, rules);
  if ((rules & kAcl) != 0) add_acl(config);
  config.forwarding.lldp.enabled = (rules & kLldp) != 0;
  if ((rules & kRoute) != 0) config.routes = {{{0x0A4E0000, 16}, 0x0A4D0063, "p2"}};
  config.jobs.push_back(packet_job(1, start, (rules & kSmallJob) != 0));
  if ((rules & kNoSecondJob) == 0) config.jobs.push_back(packet_job(2, start, false));
  return config;
}

}  // namespace tributary::fuzz
