#include "dataplane/udp/group_copies.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tributary::dataplane {
namespace {

using wire::UdpPeer;
using Ports = std::vector<std::uint16_t>;

constexpr std::uint32_t kJob = 5;
constexpr wire::MacAddress kMac = {2, 0, 0, 0, 0, 1};

Ports ports(const UdpCopy& copy) {
  return {copy.ports.begin(), copy.ports.end()};
}

class GroupCopiesTest : public testing::Test {
 protected:
  GroupCopiesTest() {
    config::SwitchConfig config;
    config.jobs.resize(1);
    config.jobs[0].id = kJob;
    config.jobs[0].workers = 4;
    copies_.emplace(config);
  }
  // In a new epoch.
  std::span<const UdpCopy> of(const std::array<Endpoint, 4>& places) {
    for (std::size_t i = 0; i < places.size(); ++i) members_[i].peer = places[i];
    ++serial_;
    return again();
  }
  std::span<const UdpCopy> again() { return copies_->of(kJob, {members_, serial_}); }

  std::optional<GroupCopies> copies_;
  std::array<aggregator::Member, 4> members_;
  std::uint64_t serial_ = 0;
};

TEST_F(GroupCopiesTest, ACopyForEachVlanToItsPorts) {
  // Ports 0 and 1; VLANs 5 (with two priorities), none, and 6.
  const auto copies = of({UdpPeer(0, 9, 1, 0x2005, kMac), UdpPeer(1, 9, 2, {}, kMac),
                          UdpPeer(0, 9, 3, 0x0006, kMac), UdpPeer(1, 9, 4, 0x4005, kMac)});
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(copies[0].group_vlan, 0x2005);
  EXPECT_EQ(ports(copies[0]), (Ports{0, 1}));
  EXPECT_EQ(copies[1].group_vlan, std::nullopt);
  EXPECT_EQ(ports(copies[1]), (Ports{1}));
  EXPECT_EQ(copies[2].group_vlan, 6);
  EXPECT_EQ(ports(copies[2]), (Ports{0}));
  for (const UdpCopy& copy : copies) EXPECT_EQ(copy.member, nullptr);
}

// O12: no router passes on what goes to a group, so those behind one are not in it.
TEST_F(GroupCopiesTest, O12_MembersBehindRoutersGetCopiesOfTheirOwn) {
  const auto copies = of(
      {UdpPeer(0, 9, 1, {}, kMac), UdpPeer(1, 9, 2), UdpPeer(1, 9, 3), UdpPeer(3, 9, 4, {}, kMac)});
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(ports(copies[0]), (Ports{0, 3}));
  ASSERT_NE(copies[1].member, nullptr);
  EXPECT_EQ(copies[1].member->ipv4, 2u);
  EXPECT_EQ(ports(copies[1]), (Ports{1}));
  ASSERT_NE(copies[2].member, nullptr);
  EXPECT_EQ(copies[2].member->ipv4, 3u);
}

TEST_F(GroupCopiesTest, O12_OneCopyReachesAllAtOneAddress) {
  const auto copies = of({UdpPeer(1, 9, 2), UdpPeer(1, 9, 2), UdpPeer(1, 8, 2), UdpPeer(1, 9, 2)});
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].member->udp_port, 9);
  EXPECT_EQ(copies[1].member->udp_port, 8);
}

TEST_F(GroupCopiesTest, TheNextEpochHasOthers) {
  const Endpoint here = UdpPeer(0, 9, 1, {}, kMac);
  const Endpoint there = UdpPeer(2, 9, 1, {}, kMac);
  EXPECT_EQ(ports(of({here, here, here, here}).front()), (Ports{0}));
  members_[1].peer = there;
  EXPECT_EQ(ports(again().front()), (Ports{0})) << "the epoch is the same";
  EXPECT_EQ(ports(of({here, there, here, here}).front()), (Ports{0, 2}));
}

// Rule 20: these get what another front end writes.
TEST_F(GroupCopiesTest, Rule20_MembersOfOtherFrontEndsAreLeftOut) {
  const Endpoint udp = UdpPeer(0, 9, 1, {}, kMac);
  const Endpoint other({.front_end = static_cast<FrontEndId>(2),
                        .port = 1,
                        .node = {},
                        .station = 1,
                        .segment = {}});
  const auto copies = of({udp, other, udp, other});
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(ports(copies[0]), (Ports{0}));
}

TEST_F(GroupCopiesTest, NoneWithoutAnEpochOrAJob) {
  EXPECT_TRUE(copies_->of(kJob, {}).empty());
  EXPECT_TRUE(copies_->of(99, {members_, 1}).empty());
}

// What a change of configuration replaces moves, and its copies lead into it.
TEST_F(GroupCopiesTest, StayWithWhatTheyBelongTo) {
  of({UdpPeer(0, 9, 1, {}, kMac), UdpPeer(1, 9, 2), UdpPeer(1, 9, 3), UdpPeer(3, 9, 4, {}, kMac)});
  config::SwitchConfig none;
  GroupCopies other(none);
  std::swap(*copies_, other);
  EXPECT_TRUE(again().empty());
  std::swap(*copies_, other);
  EXPECT_EQ(ports(again()[0]), (Ports{0, 3}));
}

}  // namespace
}  // namespace tributary::dataplane
