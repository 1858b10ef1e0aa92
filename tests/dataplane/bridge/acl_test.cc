// Access control through whole turns of the loop: the first rule that matches decides, on every
// frame, and each rule counts.
#include "dataplane/bridge/acl.h"

#include <gtest/gtest.h>

#include "tests/dataplane/ip_frame.h"
#include "tests/dataplane/test_packet_loop.h"

namespace tributary::dataplane {
namespace {

using config::AclAction;
using config::AclRule;

config::IpPrefix prefix4(std::uint32_t address, std::uint8_t bits) {
  config::IpPrefix prefix{false, {}, bits};
  const wire::be32 word = address;
  std::memcpy(prefix.address.data(), &word, sizeof word);
  return prefix;
}
config::IpPrefix prefix6(std::uint8_t last, std::uint8_t bits) {
  config::IpPrefix prefix{true, {0x20, 0x01, 0x0D, 0xB8}, bits};
  prefix.address[15] = last;
  return prefix;
}

class Filtering : public testing::Test {
 protected:
  // Two ports.
  void start(std::vector<AclRule> rules, AclAction otherwise = AclAction::allow) {
    auto config = test_config(2);
    config.acl.otherwise = otherwise;
    config.acl.rules = std::move(rules);
    sw.reset();  // one at a time
    sw = std::make_unique<RingSwitch>(config);
  }
  bool passes(const Bytes& frame, std::size_t port = 0, std::size_t segments = 1) {
    sw->inject(port, frame, segments);
    sw->turn();
    const std::size_t sent = sw->sent(1 - port).size();
    EXPECT_EQ(sw->buffers_in_use(), 0u);
    return sent == 1;
  }
  std::vector<std::uint64_t> hits() {
    std::vector<std::uint64_t> out;
    for (const Counter& c : sw->packet_loop().acl().hits()) out.push_back(c.get());
    return out;
  }
  std::unique_ptr<RingSwitch> sw;
};
using Hits = std::vector<std::uint64_t>;

TEST_F(Filtering, WithoutRulesNothingIsLookedAt) {
  start({});
  EXPECT_TRUE(sw->packet_loop().acl().idle());
  EXPECT_TRUE(passes(ipv4_frame({})));
  EXPECT_EQ(hits(), (Hits{0}));
}

TEST_F(Filtering, TheFirstRuleThatMatchesDecides) {
  AclRule good{.name = "good", .action = AclAction::allow, .source = prefix4(0x0A000001, 32)};
  AclRule bad{.name = "bad", .action = AclAction::deny, .source = prefix4(0x0A000000, 8)};
  start({good, bad});
  EXPECT_TRUE(passes(ipv4_frame({})));
  EXPECT_FALSE(passes(ipv4_frame({.source = 0x0A000005})));
  EXPECT_TRUE(passes(ipv4_frame({.source = 0x0B000005})));
  EXPECT_TRUE(passes(ipv6_frame({})));
  EXPECT_EQ(hits(), (Hits{1, 1, 2}));
  EXPECT_EQ(sw->drops(0, DropReason::acl_denied), 1u);
  start({bad, good});
  EXPECT_FALSE(passes(ipv4_frame({})));
  EXPECT_EQ(hits(), (Hits{1, 0, 0}));
}

// A change that comes late, while a thread reads: the old counters stay where they are.
TEST_F(Filtering, O1_WhoReadsHitsKeepsThemThroughASwap) {
  start({{.action = AclAction::deny, .ether_type = 0x0806}});
  EXPECT_TRUE(passes(ipv4_frame({})));
  auto next = sw->config();
  next.acl.rules.clear();
  const VlanTable vlans(next.ports);
  Acl running(sw->config(), vlans);
  Acl other(next, vlans);
  const std::vector<Counter>& read = running.hits();
  const Counter* const first = read.data();
  ASSERT_EQ(read.size(), 2u);
  running.swap(other);
  EXPECT_EQ(read.size(), 2u);
  EXPECT_EQ(read.data(), first);
  EXPECT_EQ(running.hits().size(), 1u);
  EXPECT_EQ(&other.hits(), &read);
}

TEST_F(Filtering, TheDefaultDecidesTheRest) {
  start({{.action = AclAction::allow, .ether_type = 0x0806}}, AclAction::deny);
  EXPECT_TRUE(passes(l2_frame(kEverybody, host(1), 64, {}, 0x0806)));
  EXPECT_FALSE(passes(l2_frame(kEverybody, host(1))));
  EXPECT_FALSE(passes(ipv4_frame({})));
  EXPECT_FALSE(passes(ipv6_frame({})));
  EXPECT_EQ(hits(), (Hits{1, 3}));
  EXPECT_EQ(sw->packet_loop().fdb().counters().learned.get(), 1u);  // who is denied is not learned
}

TEST_F(Filtering, EachKeyOfARule) {
  const auto deny = [&](AclRule rule) {
    rule.action = AclAction::deny;
    start({rule});
  };
  deny({.port = "p1"});
  EXPECT_TRUE(passes(ipv4_frame({})));
  EXPECT_FALSE(passes(ipv4_frame({}), 1));
  EXPECT_FALSE(passes(ipv6_frame({}), 1));
  EXPECT_FALSE(passes(l2_frame(kEverybody, host(1)), 1));
  deny({.vlan = config::NumberRange{10, 19}});
  EXPECT_TRUE(passes(ipv4_frame({})));
  EXPECT_TRUE(passes(ipv4_frame({.tci = 9})));
  EXPECT_FALSE(passes(ipv4_frame({.tci = 10})));
  EXPECT_FALSE(passes(ipv6_frame({.tci = 0xE013})));  // of any priority
  EXPECT_TRUE(passes(ipv4_frame({.tci = 20})));
  deny({.destination = prefix4(0x0A000002, 31)});
  EXPECT_FALSE(passes(ipv4_frame({})));
  EXPECT_FALSE(passes(ipv4_frame({.destination = 0x0A000003})));
  EXPECT_TRUE(passes(ipv4_frame({.destination = 0x0A000004})));
  deny({.source = prefix6(1, 128)});
  EXPECT_FALSE(passes(ipv6_frame({})));
  deny({.source = prefix6(2, 128)});
  EXPECT_TRUE(passes(ipv6_frame({})));
  deny({.destination = prefix6(0, 32)});
  EXPECT_FALSE(passes(ipv6_frame({})));
  EXPECT_TRUE(passes(ipv4_frame({})));
  deny({.protocol = std::uint8_t{6}});
  EXPECT_TRUE(passes(ipv4_frame({.protocol = 17})));
  EXPECT_FALSE(passes(ipv4_frame({.protocol = 6})));
  EXPECT_FALSE(passes(ipv6_frame({.protocol = 6})));
  deny({.protocol = std::uint8_t{6}, .destination_ports = config::NumberRange{2000, 3000}});
  EXPECT_FALSE(passes(ipv4_frame({.protocol = 6})));
  EXPECT_FALSE(passes(ipv6_frame({.protocol = 6})));
  EXPECT_TRUE(passes(ipv4_frame({.protocol = 6, .destination_port = 3001})));
  EXPECT_TRUE(passes(ipv4_frame({.protocol = 17})));
  deny({.protocol = std::uint8_t{17}, .source_ports = config::NumberRange{1111, 1111}});
  EXPECT_FALSE(passes(ipv4_frame({})));
  deny({.ether_type = std::uint16_t{0x0800}});
  EXPECT_FALSE(passes(ipv4_frame({})));
  EXPECT_TRUE(passes(ipv6_frame({})));
  deny({});
  EXPECT_FALSE(passes(ipv4_frame({})));
  EXPECT_FALSE(passes(ipv6_frame({})));
  EXPECT_FALSE(passes(l2_frame(kEverybody, host(1))));
}

TEST_F(Filtering, MalformedPacketsDoNotSlipThrough) {
  start({{.action = AclAction::deny, .protocol = std::uint8_t{6}}});
  Bytes frame = ipv4_frame({.protocol = 6});
  frame[14] = std::byte{0x44};
  EXPECT_FALSE(passes(frame));
  EXPECT_EQ(sw->drops(0, DropReason::frame_bad_ip), 1u);
  EXPECT_FALSE(passes(ipv4_frame({.protocol = 17, .payload = 2})));
  EXPECT_EQ(sw->drops(0, DropReason::frame_truncated), 1u);
  EXPECT_EQ(hits(), (Hits{0, 0}));
}

TEST_F(Filtering, HeadersInSeveralBuffersAreRead) {
  start({{.action = AclAction::deny, .protocol = std::uint8_t{6}}});
  EXPECT_FALSE(passes(ipv4_frame({.protocol = 6, .payload = 80}), 0, 5));
  EXPECT_TRUE(passes(ipv4_frame({.protocol = 17, .payload = 80}), 0, 5));
}

TEST_F(Filtering, AWholeBurstAtOnce) {
  start({{.action = AclAction::deny, .protocol = std::uint8_t{6}}});
  for (std::size_t i = 0; i < kBurst; ++i) {
    const auto protocol = static_cast<std::uint8_t>(i % 3 == 0 ? 6 : 17);
    sw->inject(
        0, i % 2 == 0 ? ipv4_frame({.protocol = protocol}) : ipv6_frame({.protocol = protocol}));
  }
  sw->turn();
  EXPECT_EQ(sw->sent(1).size(), 21u);
  EXPECT_EQ(hits(), (Hits{11, 21}));
}

TEST_F(Filtering, ManyRulesKeepTheirOrder) {
  std::vector<AclRule> rules;
  for (std::uint32_t n = 0; n < 500; ++n)
    rules.push_back({.action = n % 2 == 0 ? AclAction::deny : AclAction::allow,
                     .source = prefix4(0x0A000000 + (n << 8), 24)});
  rules.push_back({.action = AclAction::deny, .source = prefix4(0x0A000000, 8)});
  start(rules);
  for (std::uint32_t n = 0; n < 510; ++n)
    EXPECT_EQ(passes(ipv4_frame({.source = 0x0A000001 + (n << 8)})), n < 500 && n % 2 == 1) << n;
}

// Members of a job are no exception.
TEST(AclAndJobs, ADenyWins) {
  auto config = test_config(2);
  config::JobConfig job;
  job.id = 5;
  job.name = "job";
  job.workers = 1;
  config.jobs = {job};
  config.acl.rules = {{.name = "shut", .action = AclAction::deny, .port = "p1"}};
  RingSwitch sw(config);
  TestWorker rank(config, 5, 0, 1);
  sw.inject(1, rank.join(1));
  sw.turn();
  EXPECT_TRUE(sw.sent(1).empty());
  EXPECT_EQ(sw.drops(1, DropReason::acl_denied), 1u);
  sw.inject(0, rank.join(1));
  sw.turn();
  EXPECT_FALSE(sw.sent(0).empty());
}

}  // namespace
}  // namespace tributary::dataplane
