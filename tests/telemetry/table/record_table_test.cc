#include "telemetry/table/record_table.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/telemetry/wire/frames.h"

namespace tributary::telemetry {
namespace {

using namespace test;

Hop at(std::uint32_t node, std::uint16_t port, std::uint32_t latency_ns) {
  Hop hop;
  hop.node = node;
  hop.egress_port = port;
  hop.latency_ns = latency_ns;
  hop.utilisation_ppm = 1000 * port;
  return hop;
}

// The sink (node 9, port 3) reports a packet of flow `source_port` that node 1 has stamped.
Bytes datagram_of(std::uint32_t sequence, std::uint16_t source_port, std::uint32_t latency_ns,
                  std::uint16_t port_of_1 = 2, bool dropped = false) {
  Bytes frame = make_frame({.checksum = false});
  store(frame, 34, source_port);
  Buffer buffer(frame);
  const std::uint16_t bitmap = kNodeId | kPorts | kHopLatency | kUtilisation;
  EXPECT_EQ(insert_int(buffer.view, {}, bitmap, 8, at(1, port_of_1, latency_ns)), Outcome::done);
  const Bytes stamped = buffer.now();
  Report report;
  report.bitmap = kPorts | kHopLatency;
  report.dropped = dropped;
  report.inner_type = InnerType::ipv4;
  report.inner = std::span(stamped).subspan(14);
  Bytes out(1500);
  ReportWriter writer({0, sequence, 9}, out);
  EXPECT_TRUE(writer.add(report, at(9, 3, 500)));
  out.resize(writer.length());
  return out;
}

TEST(RecordTable, C7_KeepsTheLatencyOfLinks) {
  RecordTable table({}, {});
  std::uint32_t sequence = 0;
  const auto tell = [&](std::optional<std::uint32_t> link_ns, Instant now) {
    Report report;
    report.bitmap = kPorts;
    Bytes out(100);
    ReportWriter writer({0, sequence++, 9}, out);
    ASSERT_TRUE(writer.add(report, at(9, 3, kUnknown32), {.link_latency = link_ns}));
    table.take(std::span(out).first(writer.length()), now);
  };
  tell({}, Instant::from_ns(5));
  EXPECT_EQ(table.link({9, 3})->link_ns, kUnknown32);
  EXPECT_EQ(table.link({9, 3})->link_seen, Instant());
  EXPECT_EQ(table.link({9, 3})->sampled, Instant::from_ns(5));
  tell(1234, Instant::from_ns(6));
  tell({}, Instant::from_ns(7));
  EXPECT_EQ(table.link({9, 3})->link_ns, 1234u);
  EXPECT_EQ(table.link({9, 3})->link_seen, Instant::from_ns(6));
  EXPECT_FALSE(table.link({9, 3})->has_latency()) << "it is no hop's";
  tell(kUnknown32, Instant::from_ns(8));
  EXPECT_EQ(table.link({9, 3})->link_ns, kUnknown32);
  EXPECT_EQ(table.link({9, 3})->born, Instant::from_ns(5));
  EXPECT_EQ(table.link({9, 3})->seen, Instant::from_ns(8));
  EXPECT_EQ(table.link({9, 3})->sampled, Instant::from_ns(7)) << "a probe is no packet's sample";
}

TEST(RecordTable, C7_ADropIsNoSampleOfThePortsLatency) {
  RecordTable table({}, {});
  std::uint32_t sequence = 0;
  const auto tell = [&](bool dropped, Instant now) {
    Report report;
    report.bitmap = kPorts | kQueue;
    report.dropped = dropped;
    Bytes out(100);
    ReportWriter writer({0, sequence++, 9}, out);
    ASSERT_TRUE(writer.add(report, at(9, 3, kUnknown32)));
    table.take(std::span(out).first(writer.length()), now);
  };
  tell(false, Instant::from_ns(5));
  tell(true, Instant::from_ns(6));
  EXPECT_EQ(table.link({9, 3})->dropped, 1u);
  EXPECT_EQ(table.link({9, 3})->seen, Instant::from_ns(6));
  EXPECT_EQ(table.link({9, 3})->sampled, Instant::from_ns(5));
}

TEST(RecordTable, C7_KeepsLatencyUtilisationDropsAndAge) {
  RecordTable table({}, {});
  for (std::uint32_t i = 0; i < 100; ++i)
    table.take(datagram_of(i, 1, i < 90 ? 1000 : 100'000, 2, i == 5), Instant::from_ns(i));
  const LinkRecord* link = table.link({1, 2});
  ASSERT_NE(link, nullptr);
  EXPECT_EQ(link->reports, 100u);
  EXPECT_EQ(link->utilisation_ppm, 2000u);
  EXPECT_EQ(link->seen, Instant::from_ns(99));
  EXPECT_GE(link->percentile_ns(50), 1000u);
  EXPECT_LE(link->percentile_ns(50), 1250u);
  EXPECT_EQ(link->percentile_ns(99), 100'000u);
  EXPECT_GT(link->latency_ewma_ns, 70'000u);  // ten samples of an eighth each
  EXPECT_EQ(link->dropped, 0u);               // the reporter's flag is not node 1's
  ASSERT_NE(table.link({9, 3}), nullptr);
  EXPECT_EQ(table.link({9, 3})->dropped, 1u);
  EXPECT_EQ(table.link({9, 3})->utilisation_ppm, kUnknown32);
}

TEST(RecordTable, AGapInTheSequenceIsLossForGood) {
  RecordTable table({}, {});
  for (const std::uint32_t sequence : {kSequenceMask - 1, kSequenceMask, 0u, 3u, 2u, 2'000'000u})
    table.take(datagram_of(sequence, 1, 10), {});
  const SequenceTracker& node = table.reporters().at({9, 0});
  EXPECT_EQ(node.received(), 6u);
  EXPECT_EQ(node.lost(), 2u) << "one of them came late";
  EXPECT_EQ(node.late(), 1u);
  EXPECT_EQ(node.restarts(), 1u);
}

// The datagram of a packet loop.
Bytes of_loop(std::uint8_t hardware, std::uint32_t sequence) {
  Bytes out = datagram_of(sequence, 1, 10);
  store(out, 0, 2u << 28 | std::uint32_t{hardware} << 22 | sequence);
  return out;
}

TEST(RecordTable, EachPacketLoopOfANodeNumbersItsReports) {
  RecordTable table({}, {});
  for (std::uint32_t sequence = 0; sequence < 5; ++sequence)
    for (const std::uint8_t loop : {std::uint8_t{0}, std::uint8_t{1}})
      table.take(of_loop(loop, sequence + 100u * loop), {});
  for (const std::uint8_t loop : {std::uint8_t{0}, std::uint8_t{1}}) {
    EXPECT_EQ(table.reporters().at({9, loop}).received(), 5u);
    EXPECT_EQ(table.reporters().at({9, loop}).lost(), 0u);
    EXPECT_EQ(table.reporters().at({9, loop}).late(), 0u);
  }
}

TEST(RecordTable, LossOfAPacketLoopIsItsOwnAndTheCounterNeverFalls) {
  RecordTable table({}, {});
  std::uint64_t before = 0;
  const auto tell = [&](std::uint8_t loop, std::uint32_t sequence) {
    table.take(of_loop(loop, sequence), {});
    std::uint64_t lost = 0;
    for (const auto& [reporter, tracker] : table.reporters()) lost += tracker.lost();
    EXPECT_GE(lost, before) << "loop " << int{loop} << ", " << sequence;
    before = lost;
  };
  for (std::uint32_t i = 0; i < 6; ++i) {
    tell(0, 100 + i);
    if (i != 2) tell(1, 300 + i);
  }
  EXPECT_EQ(table.reporters().at({9, 0}).lost(), 0u);
  EXPECT_EQ(table.reporters().at({9, 1}).lost(), 1u);
  for (const std::uint32_t again : {305u, 304u, 302u, 302u, 299u}) tell(1, again);
  tell(0, 2'000'000);  // another start
  tell(0, 1'999'999);
  EXPECT_EQ(table.reporters().at({9, 0}).lost(), 0u);
  EXPECT_EQ(table.reporters().at({9, 1}).lost(), 1u);
  EXPECT_EQ(table.reporters().at({9, 1}).late(), 2u);
}

TEST(RecordTable, AReportThatComesTwiceCountsOnce) {
  RecordTable table({}, {});
  for (const std::uint32_t sequence : {0u, 2u, 2u, 0u, 1u, 1u})
    table.take(datagram_of(sequence, 1, 10), {});
  const SequenceTracker& node = table.reporters().at({9, 0});
  EXPECT_EQ(node.received(), 3u);
  EXPECT_EQ(node.duplicates(), 3u);
  EXPECT_EQ(node.late(), 1u);
  EXPECT_EQ(node.lost(), 1u);
  EXPECT_EQ(table.link({1, 2})->reports, 3u);
}

TEST(RecordTable, OneThatIsTooLateToBeKnownFillsNoGap) {
  RecordTable table({}, {});
  for (const std::uint32_t sequence : {0u, 200u, 1u}) table.take(datagram_of(sequence, 1, 10), {});
  const SequenceTracker& node = table.reporters().at({9, 0});
  EXPECT_EQ(node.lost(), 199u);
  EXPECT_EQ(node.late(), 1u);
}

TEST(RecordTable, ANodeThatStartsAnewIsNotTakenForItsOwnRepetition) {
  for (const std::uint32_t before : {50u, 10'000u}) {
    RecordTable table({}, {});
    for (std::uint32_t i = 0; i < before; ++i) table.take(of_loop(0, i), {});
    const SequenceTracker& node = table.reporters().at({9, 0});
    for (std::uint32_t i = 0; i < before; ++i) table.take(of_loop(0, i), {});
    EXPECT_EQ(node.restarts(), 1u);
    EXPECT_GE(node.received(), 2 * before - SequenceTracker::kRestartRun);
    EXPECT_LT(node.late(), SequenceTracker::kRestartRun);
    table.take(of_loop(0, before + 5), {});
    EXPECT_EQ(node.lost(), 5u) << "a gap of the new start counts";
  }
}

TEST(RecordTable, LateNumbersBetweenNewOnesAreNoRestart) {
  RecordTable table({}, {});
  for (std::uint32_t i = 0; i < 100; ++i) {
    table.take(of_loop(0, 1000 + i), {});
    table.take(of_loop(0, 500 + i), {});
  }
  EXPECT_EQ(table.reporters().at({9, 0}).restarts(), 0u);
  EXPECT_EQ(table.reporters().at({9, 0}).late(), 100u);
}

TEST(RecordTable, C7_KeepsTheLatestPathOfEachFlow) {
  RecordTable table({}, {});
  table.take(datagram_of(0, 7, 10), Instant::from_ns(1));
  ASSERT_EQ(table.flows().size(), 1u);
  const FlowKey key = (*table.flows().begin()).key;
  EXPECT_EQ(key.source_port, 7);
  table.take(datagram_of(1, 7, 20, 4), Instant::from_ns(2));
  const FlowPath* flow = table.flows().find(key);
  ASSERT_NE(flow, nullptr);
  ASSERT_EQ(flow->count, 2u);
  EXPECT_EQ(flow->hops[0], (FlowHop{1, 4, 20}));
  EXPECT_EQ(flow->hops[1], (FlowHop{9, 3, 500}));
  EXPECT_EQ(flow->changes, 1u);
  EXPECT_TRUE(flow->whole);
}

TEST(RecordTable, C7_HopsThatReportForThemselvesMakeOnePath) {
  RecordTable table({}, {});
  std::array<std::uint32_t, 4> sequences{};
  const Bytes frame = make_frame({});
  const auto tell = [&](std::uint32_t node, std::uint16_t port, Instant now) {
    Report report;
    report.bitmap = kPorts | kHopLatency;
    report.inner_type = InnerType::ipv4;
    report.inner = std::span(frame).subspan(14);
    Bytes out(500);
    ReportWriter writer({0, sequences[node]++, node}, out);
    ASSERT_TRUE(writer.add(report, at(node, port, 10 * node)));
    table.take(std::span(out).first(writer.length()), now);
  };
  const auto hops = [&] {
    const FlowPath& flow = (*table.flows().begin());
    return std::vector<FlowHop>(flow.hops.begin(),
                                flow.hops.begin() + static_cast<std::ptrdiff_t>(flow.count));
  };
  const Instant begin = Instant::from_ns(1);
  for (int i = 0; i < 3; ++i) {
    tell(1, 5, begin);
    tell(2, 6, begin);
  }
  ASSERT_EQ(table.flows().size(), 1u);
  EXPECT_EQ(hops(), (std::vector<FlowHop>{{1, 5, 10}, {2, 6, 20}}));
  EXPECT_EQ((*table.flows().begin()).changes, 0u);
  EXPECT_FALSE((*table.flows().begin()).whole);
  EXPECT_EQ(table.link({2, 6})->reports, 3u);
  tell(1, 7, begin + kSingleHopAge);  // another way, which does not lead by 2
  tell(3, 6, begin + kSingleHopAge);
  EXPECT_EQ((*table.flows().begin()).changes, 1u);
  EXPECT_EQ(hops().size(), 3u);
  tell(3, 6, begin + kSingleHopAge + Duration::ns(1));
  EXPECT_EQ(hops(), (std::vector<FlowHop>{{1, 7, 10}, {3, 6, 30}}));
  EXPECT_EQ(table.counters().bad_packets, 0u);
}

TEST(RecordTable, IsBoundedAndCountsWhatHasNoRoom) {
  RecordTable table({.links = 1, .flows = 2}, {});
  for (std::uint16_t port = 0; port < 5; ++port) table.take(datagram_of(port, port, 10), {});
  EXPECT_EQ(table.links().size(), 1u);
  EXPECT_EQ(table.counters().refused_links, 5u);
  EXPECT_EQ(table.flows().size(), 2u);
  EXPECT_EQ(table.counters().evicted_flows, 3u);
  EXPECT_EQ((*table.flows().begin()).key.source_port, 4);
  EXPECT_EQ((*++table.flows().begin()).key.source_port, 3);
}

TEST(RecordTable, NodesThatUseUpAllLoopNumbersLockNoOtherOut) {
  RecordTable table({.flows = 0}, {});
  for (std::uint32_t node = 100; node < 200; ++node)
    for (std::uint8_t loop = 0; loop < 64; ++loop) {
      Bytes out = of_loop(loop, 0);
      store(out, 4, node);
      table.take(out, {});
    }
  table.take(of_loop(3, 0), {});
  ASSERT_TRUE(table.reporters().contains({9, 3}));
  EXPECT_EQ(table.reporters().at({9, 3}).received(), 1u);
  EXPECT_NE(table.link({9, 3}), nullptr);
}

// A node reports an egress port of its own, and no packet.
Bytes of_own_port(std::uint32_t sequence, std::uint16_t port, std::uint32_t node = 9) {
  Report report;
  report.bitmap = kPorts | kHopLatency;
  Bytes out(100);
  ReportWriter writer({0, sequence, node}, out);
  EXPECT_TRUE(writer.add(report, at(node, port, 500)));
  out.resize(writer.length());
  return out;
}

// Two nodes report the same to a table of eight ports: ports of their own, or those of packets.
TEST(RecordTable, ANodeThatReportsMorePortsThanThereAreKeepsNoOtherOut) {
  for (const bool own : {true, false}) {
    RecordTable table({.links = 8, .flows = 0}, {});
    const Instant now = Instant::from_ns(1);
    std::uint32_t sequence = 0;
    const auto tell = [&](std::uint32_t node, std::uint16_t port) {
      Bytes out = own ? of_own_port(sequence++, port, node) : datagram_of(sequence++, 1, 10, port);
      store(out, 4, node);
      table.take(out, now);
    };
    const auto has = [&](std::uint32_t node, std::uint16_t port) {
      return table.link({own ? node : 1, port}) != nullptr;
    };
    for (std::uint16_t port = 100; port < 150; ++port) tell(66, port);
    ASSERT_EQ(table.links().size(), 8u);
    for (std::uint16_t port = 1; port <= 3; ++port) tell(9, port);
    for (std::uint16_t port = 1; port <= 3; ++port) EXPECT_TRUE(has(9, port)) << port;
    for (std::uint16_t port = 200; port < 250; ++port) tell(66, port);
    for (std::uint16_t port = 1; port <= 3; ++port) EXPECT_TRUE(has(9, port)) << port;
    EXPECT_EQ(table.links().size(), 8u);
    EXPECT_FALSE(has(66, 249)) << "it has its share";
    EXPECT_GE(table.counters().refused_links, 80u);
  }
}

TEST(RecordTable, APortThatItsNodeReportsCountsNoLongerForTheOneThatNamedIt) {
  RecordTable table({.links = 8, .flows = 0}, {});
  const Instant now = Instant::from_ns(1);
  std::uint32_t sequence = 0;
  for (std::uint16_t port = 100; port < 107; ++port)  // with node 9's own
    table.take(datagram_of(sequence++, 1, 10, port), now);
  table.take(of_own_port(0, 100, 1), now);
  for (std::uint16_t port = 1; port <= 3; ++port) table.take(of_own_port(port, port, 1), now);
  EXPECT_NE(table.link({1, 100}), nullptr);
  for (std::uint16_t port = 1; port <= 3; ++port) EXPECT_NE(table.link({1, port}), nullptr);
  table.take(of_own_port(4, 4, 1), now);
  EXPECT_EQ(table.link({1, 4}), nullptr) << "it has four";
  EXPECT_NE(table.link({9, 3}), nullptr);
}

// Addresses that a hash over words, each of which can be undone, maps to one value.
TEST(RecordTable, FlowsWhoseAddressesArePickedTakeNoLongerThanOthers) {
  constexpr std::size_t kFlows = 100'000;
  RecordTable table({}, {});
  Bytes packet = make_frame({.ipv6 = true, .payload = 0});
  packet.erase(packet.begin(), packet.begin() + 14);
  Report report;
  report.bitmap = kPorts;
  report.inner_type = InnerType::ipv6;
  report.inner = packet;
  std::uint32_t sequence = 0;
  for (std::uint64_t flow = 0; flow < kFlows;) {
    Bytes out(9000);
    ReportWriter writer({0, sequence++, 9}, out);
    for (;; ++flow) {
      const std::uint64_t low = flow * 0x9E3779B97F4A7C15;
      const std::uint64_t high = low ^ low >> 29;
      std::memcpy(packet.data() + 8, &flow, sizeof flow);
      std::memcpy(packet.data() + 16, &high, sizeof high);
      if (flow == kFlows || !writer.add(report, at(9, 3, 500))) break;
    }
    table.take(std::span(out).first(writer.length()), {});
  }
  EXPECT_EQ(table.flows().size(), kFlows);
}

TEST(RecordTable, APortThatANodeReportsItselfTakesThePlaceOfOneThatAPacketNames) {
  RecordTable table({.links = 4, .flows = 0}, {});
  std::uint32_t sequence = 0;
  Instant now = Instant::from_ns(1);
  for (std::uint16_t port = 100; port < 120; ++port)
    table.take(datagram_of(sequence++, 1, 10, port), now);
  EXPECT_EQ(table.links().size(), 4u) << "node 9's, and three of node 1";
  EXPECT_EQ(table.counters().refused_links, 17u);
  for (std::uint16_t port = 4; port <= 6; ++port) table.take(of_own_port(sequence++, port), now);
  for (std::uint16_t port = 3; port <= 6; ++port) EXPECT_NE(table.link({9, port}), nullptr) << port;
  EXPECT_EQ(table.counters().evicted_links, 3u);
  table.take(of_own_port(sequence++, 7), now);
  table.take(datagram_of(sequence++, 1, 10, 100), now);
  EXPECT_EQ(table.links().size(), 4u);
  EXPECT_EQ(table.link({9, 7}), nullptr) << "all places are of ports in use";
  EXPECT_EQ(table.link({1, 100}), nullptr);
}

TEST(RecordTable, ALinkThatNothingReportsMakesRoomAfterAWhile) {
  RecordTable table({.links = 3, .flows = 0}, {});
  std::uint32_t sequence = 0;
  const Instant begin = Instant::from_ns(1);
  table.take(datagram_of(sequence++, 1, 10, 100), begin);
  table.take(datagram_of(sequence++, 1, 10, 101), begin + Duration::ns(1));
  table.take(datagram_of(sequence++, 1, 10, 100), begin + Duration::ns(2));
  table.take(datagram_of(sequence++, 1, 10, 102), begin + kLinkAge);
  EXPECT_EQ(table.link({1, 102}), nullptr);
  table.take(datagram_of(sequence++, 1, 10, 102), begin + kLinkAge + Duration::ns(2));
  EXPECT_NE(table.link({1, 102}), nullptr);
  EXPECT_EQ(table.link({1, 101}), nullptr) << "it was the oldest";
  EXPECT_NE(table.link({1, 100}), nullptr);
  const Instant later = begin + kLinkAge + kLinkAge + Duration::seconds(1);
  table.take(of_own_port(sequence++, 4), later);
  table.take(of_own_port(sequence++, 5), later);
  EXPECT_NE(table.link({9, 5}), nullptr);
  table.take(of_own_port(sequence++, 6), later);
  EXPECT_NE(table.link({9, 6}), nullptr) << "port 3 was reported a while ago";
  EXPECT_EQ(table.link({9, 3}), nullptr);
}

TEST(RecordTable, AFlowTakesLessThanItsShareOf200Megabytes) {
  constexpr std::size_t kLinksOfAList = 2 * sizeof(void*);
  constexpr std::size_t kBucketAndNode = sizeof(FlowKey) + 5 * sizeof(void*);
  EXPECT_LE((sizeof(FlowPath) + kLinksOfAList + kBucketAndNode) * TableLimits{}.flows,
            100'000'000u);
}

TEST(RecordTable, CountsWhatIsMalformed) {
  RecordTable table({}, {});
  Bytes cut = datagram_of(0, 1, 10);
  cut.pop_back();
  table.take(cut, {});
  table.take(from_hex("10000000"), {});
  EXPECT_EQ(table.counters().malformed, 2u);
  EXPECT_EQ(table.counters().reports, 0u);
}

}  // namespace
}  // namespace tributary::telemetry
