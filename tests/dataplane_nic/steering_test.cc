// What a card that has rules or hashes is asked for, and what becomes of it where it refuses: the
// next best, its own words, and no rule that is left behind.
#include "dataplane/port/steering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/dataplane_nic/fake_nic.h"
#include "tests/dataplane_nic/nic_eal.h"

namespace tributary::dataplane {
namespace {

using How = Steering::How;
using Rules = std::vector<FakeNic::Rule>;
using testing::IsEmpty;
using testing::StrEq;

constexpr std::uint32_t kSwitch = 0x0A4D00FE;
constexpr std::uint64_t kFine = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP;
constexpr std::uint64_t kAlone = kFine | RTE_ETH_RSS_L4_DST_ONLY;

class SteeringOfACard : public testing::Test {
 protected:
  // Started, with two queues.
  Steering& start(const NicAbilities& abilities) {
    nic.can = abilities;
    config::PortConfig port{"p", nic.name(), 1500};
    port.queues = 2;
    lone.emplace(port);
    lone->set_up();
    return lone->port->steering();
  }
  static config::SteeringPlan plan(const std::vector<config::SteeringWish>& wishes) {
    return {.ipv4 = kSwitch, .wishes = wishes};
  }

  const config::SteeringPlan two = plan({{47000, 1}, {47001, 0}});
  const Rules rules_of_two = {{kSwitch, 47000, 1}, {kSwitch, 47001, 0}};
  FakeNic nic{"net_fake0"};
  std::optional<LonePort> lone;
};

TEST_F(SteeringOfACard, Rule16_EachWishIsARuleAndNoneOutlivesThePort) {
  Steering& steering = start({.hashes = kAlone});
  EXPECT_EQ(steering.how(), How::rss) << "before it is asked";
  steering.apply(two);
  EXPECT_EQ(steering.how(), How::flow);
  EXPECT_EQ(nic.rules(), rules_of_two);
  EXPECT_EQ(steering.rules(), 2u);
  EXPECT_EQ(steering.note(), "");
  EXPECT_EQ(nic.hash(), kFine) << "other traffic is spread as finely as it can be";
  lone.reset();
  EXPECT_EQ(nic.record().rules_when_stopped, 0u);
  EXPECT_EQ(nic.record().removed, 2u);
}

TEST_F(SteeringOfACard, AnotherPlanTakesThePlaceOfTheOneBefore) {
  Steering& steering = start({});
  steering.apply(two);
  steering.apply(two);
  EXPECT_EQ(nic.record().made, 2u) << "the same plan changes nothing";
  // A device takes one rule for a port, so the other one has to be gone by then.
  steering.apply(plan({{47000, 0}, {47002, 1}}));
  EXPECT_EQ(nic.rules(), (Rules{{kSwitch, 47000, 0}, {kSwitch, 47002, 1}}));
  EXPECT_EQ(steering.how(), How::flow);
  steering.apply({.ipv4 = kSwitch + 1, .wishes = {{47000, 0}}});
  EXPECT_EQ(nic.rules(), (Rules{{kSwitch + 1, 47000, 0}}));
  steering.apply({});
  EXPECT_THAT(nic.rules(), IsEmpty());
  EXPECT_EQ(steering.rules(), 0u);
  EXPECT_EQ(steering.how(), How::hand_over) << "it has no hash";
}

TEST_F(SteeringOfACard, WhatBeginsAgainIsAskedAgain) {
  Steering& steering = start({});
  steering.apply(two);
  steering.end();
  EXPECT_THAT(nic.rules(), IsEmpty());
  steering.apply(two);
  EXPECT_THAT(nic.rules(), IsEmpty()) << "the device may be gone";
  steering.begin(lone->port->ethdev(), 0, 0);
  steering.apply(two);
  EXPECT_EQ(nic.rules(), rules_of_two);
}

TEST_F(SteeringOfACard, RefusedRulesLeaveAHashOfUdpPorts) {
  Steering& steering = start({.hashes = kAlone, .refuses_rules = "no such item"});
  steering.apply(two);
  EXPECT_EQ(steering.how(), How::rss_udp_port);
  EXPECT_EQ(nic.hash(), kAlone);
  EXPECT_EQ(steering.note(), "rte_flow refused: no such item (rule 1 of 2)");
  // One queue for all: it would bring everything there.
  steering.apply(plan({{47000, 1}, {47001, 1}}));
  EXPECT_EQ(steering.how(), How::rss);
  EXPECT_EQ(nic.hash(), kFine);
  steering.apply(two);
  EXPECT_EQ(nic.hash(), kAlone);
  nic.can.refuses_rules = nullptr;
  steering.apply(plan({{47000, 0}, {47001, 1}}));
  EXPECT_EQ(steering.how(), How::flow);
  EXPECT_EQ(nic.hash(), kFine) << "others are spread as before";
  EXPECT_EQ(steering.note(), "");
}

TEST_F(SteeringOfACard, ACardWithoutRulesSaysSo) {
  Steering& steering = start({.hashes = kFine, .rules = false});
  steering.apply(two);
  EXPECT_EQ(steering.how(), How::rss);
  EXPECT_EQ(nic.hash(), kFine);
  EXPECT_THAT(steering.note(), StrEq("rte_flow refused: Function not implemented (rule 1 of 2)"));
}

TEST_F(SteeringOfACard, WhenTheTableIsFullAllRulesAreTakenBack) {
  const auto four = plan({{47000, 0}, {47001, 0}, {47002, 1}, {47003, 1}});
  Steering& steering = start({.hashes = kAlone, .most_rules = 2});
  steering.apply(four);
  EXPECT_THAT(nic.rules(), IsEmpty());
  EXPECT_EQ(nic.record().made, 2u);
  EXPECT_EQ(nic.record().removed, 2u);
  EXPECT_EQ(steering.rules(), 0u);
  EXPECT_EQ(steering.how(), How::rss_udp_port);
  EXPECT_EQ(steering.note(), "rte_flow failed: no room for rules (rule 3 of 4)");
  steering.apply(two);
  EXPECT_EQ(steering.how(), How::flow) << "a plan that fits";
  EXPECT_EQ(nic.rules(), rules_of_two);
}

TEST_F(SteeringOfACard, ARefusedHashIsSaidAsWell) {
  Steering& steering = start({.hashes = kAlone, .rehashes = false, .rules = false});
  steering.apply(two);
  EXPECT_EQ(steering.how(), How::rss);
  EXPECT_EQ(steering.note(),
            "rte_flow refused: Function not implemented (rule 1 of 2); "
            "hash of UDP ports refused: Operation not supported");
}

TEST_F(SteeringOfACard, AHashThatCannotGoIsShownAsItIs) {
  Steering& steering = start({.hashes = kAlone, .rules = false});
  steering.apply(two);
  nic.can.rehashes = false;
  steering.apply({});
  EXPECT_EQ(nic.hash(), kAlone);
  EXPECT_EQ(steering.how(), How::rss_udp_port);
  EXPECT_EQ(steering.note(), "other hash refused: Operation not supported");
}

TEST_F(SteeringOfACard, RulesThatCannotGoAloneGoTogether) {
  Steering& steering = start({.hashes = kFine, .removes_rules = false});
  steering.apply(two);
  steering.apply(plan({{47002, 1}}));
  EXPECT_EQ(nic.rules(), (Rules{{kSwitch, 47002, 1}}));
  EXPECT_EQ(steering.how(), How::flow);
  EXPECT_EQ(steering.note(), "");
}

TEST_F(SteeringOfACard, RulesThatStayAreCountedAndAskedToGoAgain) {
  Steering& steering = start({.hashes = kFine, .removes_rules = false, .flushes_rules = false});
  steering.apply(two);
  steering.apply({});
  EXPECT_EQ(nic.rules(), rules_of_two);
  EXPECT_EQ(steering.rules(), 2u);
  EXPECT_EQ(steering.note(), "rte_flow keeps old rules: busy with all");
  nic.can.removes_rules = true;
  steering.apply(plan({{47001, 1}}));
  EXPECT_EQ(nic.rules(), (Rules{{kSwitch, 47001, 1}}));
  EXPECT_EQ(steering.rules(), 1u);
  EXPECT_EQ(steering.note(), "");
}

}  // namespace
}  // namespace tributary::dataplane
