// Routers to peers, with explicit time.
#include "dataplane/udp/next_hops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kRouter = 0x0A4D0001;  // 10.77.0.1
constexpr std::uint32_t kOther = 0x0A4D0002;
constexpr wire::MacAddress kMac = {2, 0, 0, 0, 9, 1};
constexpr wire::MacAddress kNewMac = {2, 0, 0, 0, 9, 2};

config::SwitchConfig routed() {
  config::SwitchConfig config;
  config.ipv4 = 0x0A4D00FE;
  config.ports = {{.name = "a", .devargs = ""}, {.name = "b", .devargs = ""}};
  config.routes = {{{0, 0}, kRouter, "a"},
                   {{0x0A4D0000, 24}, std::nullopt, ""},
                   {{0x0A4E0000, 16}, kOther, "b"},
                   {{0x0A4E0500, 24}, kRouter, "a"}};
  return config;
}

class Routers : public testing::Test {
 protected:
  // Routers that are asked now.
  std::vector<std::uint32_t> asked() {
    std::vector<std::uint32_t> who;
    hops.expire(
        now, [&](std::uint16_t port) { return has_link[port]; },
        [&](const NextHop& hop) { who.push_back(hop.ipv4); });
    return who;
  }
  bool asked_router() {
    const auto who = asked();
    return std::count(who.begin(), who.end(), kRouter) == 1;
  }
  bool intercept(const wire::MacAddress& mac, bool to_us, std::uint16_t port = 0) {
    return hops.intercept({port, kRouter, mac, to_us}, now);
  }
  void pass(Duration time) { now = now + time; }
  // Times between questions to the first router, within so long.
  std::vector<std::int64_t> gaps_ms(Duration within) {
    std::vector<std::int64_t> gaps;
    const Instant end = now + within;
    for (Instant last = now; now < end; pass(Duration::ms(10)))
      for (const std::uint32_t who : asked())
        if (who == kRouter) {
          gaps.push_back((now - last).to_ns() / 1'000'000);
          last = now;
        }
    return gaps;
  }
  const NextHop& router() { return *hops.toward(0x08080808); }

  std::array<bool, 2> has_link = {true, true};
  NextHops hops{routed()};
  Instant now = Instant::from_ns(1'000'000'000);
};

using Asked = std::vector<std::uint32_t>;
using Gaps = std::vector<std::int64_t>;

TEST_F(Routers, O12_TheLongestPrefixLeads) {
  EXPECT_EQ(hops.toward(0x0B000001)->ipv4, kRouter);
  EXPECT_EQ(hops.toward(0x0A4D0007), nullptr) << "on the link, by a longer prefix";
  EXPECT_EQ(hops.toward(0x0A4E0007)->ipv4, kOther);
  EXPECT_EQ(hops.toward(0x0A4E0007)->port, 1);
  EXPECT_EQ(hops.toward(0x0A4E0507)->ipv4, kRouter);
  EXPECT_EQ(hops.hops().size(), 2u) << "one of each router, however many routes";
  EXPECT_TRUE(NextHops().empty());
  EXPECT_EQ(NextHops().toward(kRouter), nullptr);
}

TEST_F(Routers, O12_AreAskedAtOnceAndEverMoreSeldom) {
  EXPECT_EQ(asked(), (Asked{kRouter, kOther}));
  EXPECT_EQ(router().state(), NextHop::State::asking);
  EXPECT_EQ(gaps_ms(Duration::seconds(16)), (Gaps{250, 500, 1000, 2000, 4000, 4000, 4000}));
  EXPECT_EQ(router().unanswered, 8u);
}

TEST_F(Routers, AnAnswerIsAskedForAgainBeforeItIsTooOld) {
  asked();
  intercept(kMac, true);
  EXPECT_EQ(router().mac, kMac);
  EXPECT_EQ(router().state(), NextHop::State::reachable);
  EXPECT_EQ(gaps_ms(Duration::ms(5100)), Gaps{5000});
  EXPECT_EQ(router().state(), NextHop::State::checking);
  EXPECT_EQ(router().mac, kMac) << "in use as long as it may be right";
  intercept(kMac, true);
  EXPECT_EQ(router().state(), NextHop::State::reachable);
  EXPECT_EQ(router().counters.moves.get(), 0u);
}

TEST_F(Routers, ASilentOneIsLostAndComesBack) {
  asked();
  intercept(kMac, true);
  gaps_ms(NextHops::kLife - Duration::ms(10));
  EXPECT_EQ(router().mac, kMac);
  pass(Duration::ms(10));
  asked();
  EXPECT_EQ(router().mac, std::nullopt);
  EXPECT_EQ(router().counters.losses.get(), 1u);
  EXPECT_EQ(router().counters.reachable.get(), 0u);
  pass(Duration::ms(250));
  EXPECT_TRUE(asked_router()) << "as at the beginning";
  intercept(kNewMac, true);
  EXPECT_EQ(router().mac, kNewMac);
  EXPECT_EQ(router().counters.reachable.get(), 1u);
}

TEST_F(Routers, OnlyAnAnswerToAQuestionIsBelieved) {
  EXPECT_TRUE(intercept(kMac, true)) << "known, and to be told to others";
  EXPECT_EQ(router().mac, std::nullopt) << "before anybody was asked";
  asked();
  intercept(kMac, false);
  EXPECT_EQ(router().mac, std::nullopt) << "a claim";
  intercept(kMac, true, 1);
  EXPECT_EQ(router().mac, std::nullopt) << "another port";
  intercept(config::derived_mac(0x0A4D00FE), true);
  EXPECT_EQ(router().mac, std::nullopt) << "the switch's own";
  EXPECT_FALSE(hops.intercept({0, 0x0A4D0063, kMac, true}, now)) << "nobody";
  intercept(kMac, true);
  EXPECT_EQ(router().mac, kMac);
  intercept(kNewMac, true);
  EXPECT_EQ(router().mac, kMac) << "the first answer is the answer";
}

TEST_F(Routers, AClaimOfAnotherAddressMakesTheSwitchAskNotBelieve) {
  asked();
  intercept(kMac, true);
  pass(Duration::seconds(1));
  intercept(kMac, false);
  EXPECT_FALSE(asked_router()) << "nothing new";
  intercept(kNewMac, false);
  EXPECT_EQ(router().mac, kMac);
  EXPECT_TRUE(asked_router());
  intercept(kNewMac, true);
  EXPECT_EQ(router().mac, kNewMac);
  EXPECT_EQ(router().counters.moves.get(), 1u);
}

TEST_F(Routers, AFloodOfClaimsDoesNotMakeAFloodOfQuestions) {
  asked();
  intercept(kMac, true);
  std::size_t questions = 0;
  for (int i = 0; i < 1000; ++i) {
    pass(Duration::ms(1));
    intercept(kNewMac, false);
    questions += asked_router() ? 1 : 0;
  }
  EXPECT_EQ(questions, 4u);
  EXPECT_EQ(router().mac, kMac);
}

TEST_F(Routers, WithoutALinkNobodyIsAskedOrKnown) {
  asked();
  intercept(kMac, true);
  has_link[0] = false;
  pass(Duration::ms(10));
  EXPECT_TRUE(asked().empty());
  EXPECT_EQ(router().mac, std::nullopt);
  intercept(kMac, true);
  EXPECT_EQ(router().mac, std::nullopt) << "of a question before that";
  has_link[0] = true;
  pass(Duration::ms(10));
  EXPECT_TRUE(asked_router()) << "at once";
}

TEST_F(Routers, Rule16_AnotherConfigurationKeepsWhatIsKnown) {
  asked();
  intercept(kMac, true);
  auto config = routed();
  config.routes.push_back({{0x0A500000, 16}, 0x0A4D0003, "b"});
  config.routes[2].port = "a";  // the other router has moved
  NextHops next(config);
  next.adopt(hops);
  EXPECT_EQ(next.toward(0x0B000001)->mac, kMac);
  EXPECT_EQ(next.toward(0x0A4E0007)->unanswered, 0u) << "to be asked anew";
  EXPECT_EQ(next.toward(0x0A500001)->mac, std::nullopt);
  next.forget_behind(0);
  EXPECT_EQ(next.toward(0x0B000001)->mac, std::nullopt);
}

// A loop tells the others what it hears, but a sender cannot fill their rings with it.
TEST_F(Routers, AreTalkedAboutNowAndThen) {
  asked();
  EXPECT_TRUE(intercept(kMac, true));
  EXPECT_FALSE(intercept(kMac, true));
  EXPECT_TRUE(intercept(kMac, false)) << "claims do not stand in the way of answers";
  EXPECT_FALSE(intercept(kMac, false));
  pass(Duration::ms(50));
  EXPECT_TRUE(intercept(kMac, true));
}

}  // namespace
}  // namespace tributary::dataplane
