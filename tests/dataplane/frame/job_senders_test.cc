// Rule 18: who may speak to a job's workers through a switch, and through which port.
#include "dataplane/frame/job_senders.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/net/arp.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kJob = 5;
constexpr std::uint32_t kGroup = config::job_group_ipv4(kJob);
constexpr std::uint32_t kParent = 0x0A4D00FD;
constexpr std::uint32_t kHost = 0x0A4D0009;
constexpr std::uint32_t kOther = 0x0A4E0001;
constexpr std::uint32_t kWorker = 0x0A4D0001;
constexpr std::uint16_t kUp = 0;
constexpr std::uint16_t kHostPort = 1;
constexpr std::uint16_t kWorkerPort = 2;
constexpr std::uint16_t kPathPort = 3;

config::SwitchConfig switch_config(wire::Notify notify = wire::Notify::direct) {
  config::SwitchConfig config;
  config.ipv4 = 0x0A4D00FE;
  for (const char* name : {"up", "ps", "w0", "x"}) {
    config::PortConfig port;
    port.name = name;
    config.ports.push_back(port);
  }
  config.completion.hosts = {{"ps", kHost, "ps", 1, 1}};
  config::JobConfig job;
  job.id = kJob;
  job.parent = config::ParentConfig{"root", 1, kParent, {}, "up", 0, 2};
  job.completion_hosts = {"ps"};
  job.notify = notify;
  config.jobs.push_back(job);
  return config;
}

std::vector<std::byte> datagram(std::uint32_t source, std::uint32_t destination,
                                std::uint16_t port = 47000) {
  const std::vector<std::byte> payload(64);
  std::vector<std::byte> frame(wire::kUdpPayloadOffset + payload.size());
  wire::FrameTemplate t;
  t.source = {2, 9, 9, 9, 9, 9};
  t.destination = wire::multicast_mac(destination);
  t.endpoints = {source, destination, 47000, port};
  EXPECT_NE(wire::write_frame_headers(t, frame, payload.size()), 0u);
  return frame;
}
std::vector<std::byte> arp_of(std::uint32_t sender) {
  std::array<std::byte, wire::kArpFrameBytes> frame;
  wire::write_arp_request({2, 9, 9, 9, 9, 9}, sender, kWorker, frame);
  return {frame.begin(), frame.end()};
}
// The same frame as a fragment that is not the first: it shows no UDP port.
std::vector<std::byte> later_fragment(std::vector<std::byte> frame) {
  frame[wire::kEthernetBytes + 7] = std::byte{8};
  return frame;
}
std::vector<std::byte> behind_tags(std::vector<std::byte> frame,
                                   const std::vector<std::uint16_t>& types,
                                   std::uint8_t innermost_vlan = 0) {
  std::vector<std::byte> tags;
  const auto add = [&](unsigned byte) { tags.push_back(static_cast<std::byte>(byte)); };
  for (std::size_t i = 0; i < types.size(); ++i) {
    add(types[i] >> 8u);
    add(types[i] & 0xFFu);
    add(0);
    add(i + 1 == types.size() ? innermost_vlan : 0);
  }
  frame.insert(frame.begin() + 12, tags.begin(), tags.end());
  return frame;
}

DropReason judge(const config::SwitchConfig& config, std::uint16_t port,
                 const std::vector<std::byte>& frame) {
  wire::EthernetView view;
  EXPECT_EQ(wire::parse_ethernet(frame, view), DropReason::none);
  return JobSenders(config).judge(port, view);
}

constexpr auto kNone = DropReason::none;
constexpr auto kUndeclared = DropReason::sender_mismatch;
constexpr auto kWrongPort = DropReason::wrong_ingress_port;

TEST(JobSenders, TheGroupIsOpenToDeclaredSendersThroughTheirPorts) {
  const auto config = switch_config();
  EXPECT_EQ(judge(config, kUp, datagram(kParent, kGroup)), kNone);
  EXPECT_EQ(judge(config, kWorkerPort, datagram(kParent, kGroup)), kWrongPort);
  EXPECT_EQ(judge(config, kHostPort, datagram(kHost, kGroup)), kNone);
  EXPECT_EQ(judge(config, kWorkerPort, datagram(kHost, kGroup)), kWrongPort);
  EXPECT_EQ(judge(config, kWorkerPort, datagram(kWorker, kGroup)), kUndeclared);
  EXPECT_EQ(judge(config, kUp, datagram(kWorker, kGroup)), kUndeclared);
}

TEST(JobSenders, AHostThatTellsTheRootAloneMayNotSpeakToTheGroup) {
  const auto config = switch_config(wire::Notify::root);
  EXPECT_EQ(judge(config, kHostPort, datagram(kHost, kGroup)), kUndeclared);
  EXPECT_EQ(judge(config, kWorkerPort, datagram(kHost, kWorker)), kNone);
  EXPECT_EQ(judge(config, kWorkerPort, arp_of(kHost)), kNone);
}

TEST(JobSenders, WhatIsToOtherGroupsAndNodesPasses) {
  const auto config = switch_config();
  for (const std::uint32_t to : {config::job_group_ipv4(kJob + 1), 0xEF010001u, kWorker})
    EXPECT_EQ(judge(config, kWorkerPort, datagram(kWorker, to)), kNone) << to;
  auto without_jobs = config;
  without_jobs.jobs.clear();
  EXPECT_EQ(judge(without_jobs, kWorkerPort, datagram(kWorker, kGroup)), kNone);
}

TEST(JobSenders, AHostsAddressIsTakenBehindItsPortAlone) {
  const auto config = switch_config();
  for (const auto& frame :
       {datagram(kHost, kOther), later_fragment(datagram(kHost, kWorker, 9)), arp_of(kHost)}) {
    EXPECT_EQ(judge(config, kHostPort, frame), kNone);
    EXPECT_EQ(judge(config, kWorkerPort, frame), kWrongPort);
  }
  for (const std::uint16_t last : std::array<std::uint16_t, 2>{47000, 47016})
    EXPECT_EQ(judge(config, kWorkerPort, datagram(kHost, kOther, last)), kWrongPort);
  // Its other traffic may come by any way.
  for (const std::uint16_t other : std::array<std::uint16_t, 3>{22, 46999, 47017})
    EXPECT_EQ(judge(config, kWorkerPort, datagram(kHost, kOther, other)), kNone) << other;
  EXPECT_EQ(judge(config, kWorkerPort, arp_of(kWorker)), kNone);
}

TEST(JobSenders, FragmentsToTheGroupAreJudgedByTheirAddresses) {
  const auto config = switch_config();
  EXPECT_EQ(judge(config, kUp, later_fragment(datagram(kParent, kGroup))), kNone);
  EXPECT_EQ(judge(config, kWorkerPort, later_fragment(datagram(kParent, kGroup))), kWrongPort);
  EXPECT_EQ(judge(config, kWorkerPort, later_fragment(datagram(kWorker, kGroup))), kUndeclared);
}

TEST(JobSenders, TagsOfVlan0HideNothing) {
  const auto config = switch_config();
  const std::array<std::uint16_t, 3> types = {0x8100, 0x88A8, 0x9100};
  for (const std::uint16_t outer : types)
    for (const std::uint16_t middle : types)
      for (const std::uint16_t inner : types)
        for (const std::vector<std::uint16_t>& tags :
             {std::vector{outer, middle}, std::vector{outer, middle, inner}}) {
          EXPECT_EQ(judge(config, kWorkerPort, behind_tags(datagram(kHost, kGroup), tags)),
                    kWrongPort);
          EXPECT_EQ(judge(config, kWorkerPort, behind_tags(arp_of(kHost), tags)), kWrongPort);
          EXPECT_EQ(judge(config, kHostPort, behind_tags(datagram(kHost, kGroup), tags)), kNone);
          // Another network's.
          EXPECT_EQ(judge(config, kWorkerPort, behind_tags(datagram(kHost, kGroup), tags, 7)),
                    kNone);
        }
}

TEST(JobSenders, RoutesAndPathsDeclareOtherSwitches) {
  auto config = switch_config();
  EXPECT_EQ(judge(config, kPathPort, datagram(kOther, kGroup)), kUndeclared);
  config.routes = {{{0x0A4E0000, 16}, 0x0A4D0003, "up"}};
  EXPECT_EQ(judge(config, kUp, datagram(kOther, kGroup)), kNone);
  EXPECT_EQ(judge(config, kPathPort, datagram(kOther, kGroup)), kUndeclared);
  // The longest prefix decides.
  config.ports[kPathPort].paths = {{false, {}, {false, {10, 78, 0, 1}, 32}}};
  EXPECT_EQ(judge(config, kPathPort, datagram(kOther, kGroup)), kNone);
  EXPECT_EQ(judge(config, kUp, datagram(kOther, kGroup)), kUndeclared);
}

TEST(JobSenders, AHostBehindARouterComesThroughTheRoutersPort) {
  auto config = switch_config();
  config.completion.hosts[0].port.clear();
  config.routes = {{{kHost, 32}, 0x0A4D0003, "x"}};
  EXPECT_EQ(judge(config, kPathPort, datagram(kHost, kGroup)), kNone);
  EXPECT_EQ(judge(config, kHostPort, datagram(kHost, kGroup)), kWrongPort);
}

TEST(JobSenders, ShortFramesPass) {
  const auto config = switch_config();
  auto frame = datagram(kWorker, kGroup);
  for (std::size_t bytes = wire::kEthernetBytes; bytes < frame.size(); ++bytes) {
    const std::vector<std::byte> cut(frame.begin(),
                                     frame.begin() + static_cast<std::ptrdiff_t>(bytes));
    const bool has_addresses = bytes >= wire::kEthernetBytes + wire::kIpv4Bytes;
    EXPECT_EQ(judge(config, kWorkerPort, cut), has_addresses ? kUndeclared : kNone) << bytes;
  }
}

}  // namespace
}  // namespace tributary::dataplane
