// Probes of links through whole turns of the loop (C5): there and back, and what comes of it.
#include "dataplane/bridge/link_probe.h"

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include "core/net/pdelay.h"
#include "tests/dataplane/l2_frame.h"

namespace tributary::dataplane {
namespace {

constexpr wire::MacAddress kPeer = {2, 9, 8, 7, 6, 5};
const wire::MacAddress kOwn = config::derived_mac(0x0A4D00FE);

// Port 1 leads to another switch, port 0 to a host.
config::SwitchConfig probing(Duration every = Duration::ms(50)) {
  auto config = test_config(2);
  config.telemetry.node_id = 7;
  config.telemetry.report_to = "127.0.0.1:32766";
  config.telemetry.probe = every;
  config.telemetry.ports = {{"p1", true, 0}};
  return config;
}

Bytes frame_of(const wire::PdelayMessage& message) {
  Bytes frame(wire::kPdelayFrameBytes);
  wire::write_pdelay(message, frame);
  return frame;
}

class Probes : public testing::Test {
 protected:
  explicit Probes(Duration every = Duration::ms(50)) : sw(probing(every)) {}

  RingSwitch sw;

  std::vector<wire::PdelayMessage> sent(std::size_t port) {
    std::vector<wire::PdelayMessage> all;
    for (const Bytes& frame : sw.sent(port)) {
      const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(frame));
      if (view.ether_type == wire::kEtherTypePtp)
        all.push_back(wire::parse_pdelay(view.payload).value());
    }
    return all;
  }
  // Every port has had its turn.
  void look() {
    for (std::size_t port = 0; port < 2; ++port) sw.turn();
  }
  void wait(Duration time) {
    sw.now = sw.now + time;
    look();
  }
  void answer(const wire::PdelayMessage& request, std::int64_t share_ns = 0) {
    sw.inject(1, frame_of({.response = true,
                           .sequence = request.sequence,
                           .from = {kPeer, 4},
                           .requester = request.from,
                           .correction_ns = share_ns}));
    sw.turn();
  }
  std::vector<ReportRecord> records() {
    std::vector<ReportRecord> all;
    for (ReportRecord record; sw.packet_loop().telemetry()->ring().pop(record);)
      all.push_back(record);
    return all;
  }
};

TEST_F(Probes, C5_GoToSwitchesAloneAfterEachInterval) {
  look();
  const auto first = sent(1);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_FALSE(first[0].response);
  EXPECT_EQ(first[0].from, (wire::PortIdentity{kOwn, 1}));
  EXPECT_TRUE(sent(0).empty());
  wait(Duration::ms(49));
  EXPECT_TRUE(sent(1).empty());
  wait(Duration::ms(1));
  const auto second = sent(1);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(second[0].sequence, first[0].sequence + 1);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(Probes, C5_AnAnswerMeasuresTheLinkOnce) {
  look();
  const auto asked = sent(1);
  ASSERT_EQ(asked.size(), 1u);
  answer(asked[0]);
  answer(asked[0]);  // comes twice
  const auto seen = records();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].own.node, 7u);
  EXPECT_EQ(seen[0].own.egress_port, 1u);
  ASSERT_TRUE(seen[0].of_domain.link_latency);
  EXPECT_NE(*seen[0].of_domain.link_latency, telemetry::kUnknown32);
  EXPECT_EQ(sw.drops(1, DropReason::bridge_reserved), 1u);
}

TEST_F(Probes, TheOtherSwitchsShareIsNotTheLinks) {
  look();
  answer(sent(1).at(0), 60'000'000'000);  // more than the whole trip took
  EXPECT_EQ(records().at(0).of_domain.link_latency, 0u);
}

TEST_F(Probes, AnswersToOthersAndToNothingAreDropped) {
  look();
  wire::PdelayMessage asked = sent(1).at(0);
  asked.from.port = 0;
  answer(asked);
  asked.from = {kPeer, 1};
  answer(asked);
  asked.from = {kOwn, 1};
  asked.sequence = static_cast<std::uint16_t>(asked.sequence + 1);
  answer(asked);
  EXPECT_TRUE(records().empty());
  EXPECT_EQ(sw.drops(1, DropReason::bridge_reserved), 3u);
}

TEST_F(Probes, C5_ASilentLinkIsUnknownAndProbesAreCountedAsLost) {
  for (std::size_t i = 0; i <= LinkProbe::kSilent; ++i) wait(Duration::ms(50));
  const auto seen = records();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].of_domain.link_latency, telemetry::kUnknown32);
  for (std::size_t i = 0; i < LinkProbe::kInFlight; ++i) wait(Duration::ms(50));
  EXPECT_GE(sw.packet_loop().telemetry()->counters().probes_lost.get(), LinkProbe::kSilent);
}

TEST_F(Probes, C7_ALinkWithoutCarrierIsUnknownToo) {
  look();
  answer(sent(1).at(0));
  EXPECT_NE(records().at(0).of_domain.link_latency, telemetry::kUnknown32);
  ASSERT_EQ(rte_eth_dev_set_link_down(sw.port(1).ethdev()), 0);
  EXPECT_FALSE(sw.port(1).poll_link());
  wait(Duration::ms(50));
  EXPECT_TRUE(sent(1).empty());
  const auto seen = records();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].own.egress_port, 1u);
  EXPECT_EQ(seen[0].of_domain.link_latency, telemetry::kUnknown32);
  wait(Duration::ms(50));
  EXPECT_EQ(records().size(), 1u) << "it is said as long as it is so";
}

TEST_F(Probes, AreAnsweredFromSwitchesAlone) {
  look();
  sent(0);
  sent(1);
  const wire::PdelayMessage request = {
      .response = false, .sequence = 77, .from = {kPeer, 4}, .requester = {}, .correction_ns = 0};
  for (const std::size_t port : {std::size_t{0}, std::size_t{1}}) {
    sw.inject(port, frame_of(request));
    sw.turn();
  }
  EXPECT_TRUE(sent(0).empty());
  EXPECT_EQ(sw.drops(0, DropReason::bridge_reserved), 1u);
  const auto answers = sent(1);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(answers[0].response);
  EXPECT_EQ(answers[0].sequence, 77);
  EXPECT_EQ(answers[0].requester, request.from);
  EXPECT_GE(answers[0].correction_ns, 0);
}

TEST_F(Probes, AFloodOfRequestsIsAnsweredUpToALimit) {
  look();
  sent(1);
  std::size_t answers = 0;
  for (unsigned i = 0; i < 2 * LinkProbe::kPerSecond; ++i) {
    sw.inject(1, frame_of({.response = false,
                           .sequence = static_cast<std::uint16_t>(i),
                           .from = {kPeer, 4},
                           .requester = {},
                           .correction_ns = 0}));
    sw.turn();
    answers += sent(1).size();
  }
  EXPECT_EQ(answers, LinkProbe::kPerSecond);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST_F(Probes, AReloadEndsThem) {
  look();
  sent(1);
  auto config = probing(Duration());
  for (std::size_t p = 0; p < config.ports.size(); ++p)
    config.ports[p].devargs = sw.config().ports[p].devargs;
  sw.reload(config);
  wait(Duration::seconds(1));
  EXPECT_TRUE(sent(1).empty());
}

class NoProbes : public Probes {
 protected:
  NoProbes() : Probes(Duration()) {}
};

TEST_F(NoProbes, NoneIsSentOrAnswered) {
  wait(Duration::seconds(1));
  sw.inject(1, frame_of({.response = false,
                         .sequence = 1,
                         .from = {kPeer, 4},
                         .requester = {},
                         .correction_ns = 0}));
  sw.turn();
  EXPECT_TRUE(sent(1).empty());
  EXPECT_EQ(sw.drops(1, DropReason::bridge_reserved), 1u);
}

}  // namespace
}  // namespace tributary::dataplane
