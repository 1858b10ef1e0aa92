// In-band telemetry through whole turns of the packet loop (C5, C6): sums stay exact, metadata goes
// toward switches alone, and what a switch knows is recorded.
#include <gtest/gtest.h>

#include "dataplane/frame/frame_note.h"
#include "dataplane/telemetry/marked.h"
#include "telemetry/wire/path_of.h"
#include "tests/dataplane/job_ranks.h"
#include "tests/telemetry/wire/frames.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kJob = 4;
constexpr std::uint32_t kNode = 7;
constexpr std::uint32_t kBelow = 9;
constexpr std::array kSums = {11, 18, 33};

// Rank 1 is behind another switch of the domain, rank 0 behind a host port.
config::SwitchConfig with_telemetry(config::SwitchConfig config, std::uint32_t every = 1) {
  config::JobConfig job = job_of(kJob);
  job.chunk_bytes = 64;
  job.telemetry = {.latency = true, .bandwidth = true, .every = every};
  config.jobs = {job};
  config.telemetry.node_id = kNode;
  config.telemetry.report_to = "127.0.0.1:32766";
  config.telemetry.ports = {{"p1", true, 10'000}};
  config.telemetry.probe = Duration();
  return config;
}

struct Seen {
  bool marked = false;
  std::vector<telemetry::Hop> hops;
  std::vector<std::int32_t> values;
};

// A result as it leaves; its metadata is taken out first, as the next switch does.
Seen look_at(Bytes frame) {
  Seen seen;
  telemetry::test::Buffer buffer(frame);
  telemetry::Taken taken;
  telemetry::IntView view;
  seen.marked = telemetry::strip_int(buffer.view, {}, taken, view) == telemetry::Outcome::done;
  for (std::size_t i = 0; seen.marked && i < view.hops(); ++i) seen.hops.push_back(view.hop(i));
  frame = buffer.now();
  const auto packet = read_packet(frame);  // with its checksum
  EXPECT_TRUE(packet);
  if (!packet || packet->packet.header.type != wire::PacketType::result) return seen;
  seen.values.resize(packet->packet.payload.size() / 4);
  std::memcpy(seen.values.data(), packet->packet.payload.data(), seen.values.size() * 4);
  return seen;
}

// Those of packets. The ends of ops are taken out first, into `ends` if it is there.
std::vector<ReportRecord> records_of(PacketLoop& loop,
                                     std::vector<telemetry::OpEnd>* ends = nullptr) {
  std::vector<ReportRecord> all;
  for (ReportRecord record; loop.telemetry()->ring().pop(record);) {
    if (!record.of_domain.op_end)
      all.push_back(record);
    else if (ends != nullptr)
      ends->push_back(*record.of_domain.op_end);
  }
  return all;
}

void expect_sums(const Seen& seen) {
  EXPECT_EQ(seen.values, std::vector<std::int32_t>(kSums.begin(), kSums.end()));
}

TEST(LoopTelemetryTurns, C5_AResultGetsItsHopTowardSwitchesAndNoneTowardHosts) {
  RingSwitch sw(with_telemetry(test_config(2)));
  JobRanks ranks(sw, kJob);
  ASSERT_TRUE(ranks.join());
  ranks.contribute(0);
  const auto to_host = sw.sent(0);
  const auto to_switch = sw.sent(1);
  ASSERT_EQ(to_host.size(), 1u);
  ASSERT_EQ(to_switch.size(), 1u);
  const Seen host = look_at(to_host[0]);
  EXPECT_FALSE(host.marked);
  expect_sums(host);
  const Seen above = look_at(to_switch[0]);
  ASSERT_EQ(above.hops.size(), 1u);
  expect_sums(above);
  EXPECT_EQ(above.hops[0].node, kNode);
  EXPECT_EQ(above.hops[0].egress_port, 1);
  EXPECT_EQ(above.hops[0].ingress_port, 1) << "the frame that completed it";
  EXPECT_NE(above.hops[0].latency_ns, telemetry::kUnknown32);
  EXPECT_EQ(above.hops[0].queue_occupancy, 1u);
  // The hop to the host is recorded here: no other switch would tell of it.
  std::vector<telemetry::OpEnd> ends;
  const auto records = records_of(sw.packet_loop(), &ends);
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].own.egress_port, 0);
  EXPECT_EQ(records[0].own.node, kNode);
  ASSERT_EQ(ends.size(), 1u) << "C7: the op's end, once for both ports";
  EXPECT_EQ(ends[0], (telemetry::OpEnd{kJob, 0, ranks[0].epoch, 0, 1}));
  EXPECT_EQ(sw.packet_loop().telemetry()->counters().inserted.get(), 1u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST(LoopTelemetryTurns, C5_OnePacketInNIsSampled) {
  RingSwitch sw(with_telemetry(test_config(2), 3));
  JobRanks ranks(sw, kJob);
  ASSERT_TRUE(ranks.join());
  std::vector<bool> marked;
  for (std::uint32_t seq = 0; seq < 6; ++seq) {
    ranks.contribute(seq);
    const auto sent = sw.sent(1);
    ASSERT_EQ(sent.size(), 1u);
    const Seen seen = look_at(sent[0]);
    expect_sums(seen);
    marked.push_back(seen.marked);
  }
  EXPECT_EQ(marked, (std::vector<bool>{true, false, false, true, false, false}));
  EXPECT_EQ(sw.packet_loop().telemetry()->counters().sampled.get(), 2u);
}

Bytes marked(const Bytes& plain) {
  telemetry::test::Buffer buffer(plain);
  telemetry::Hop hop;
  hop.node = kBelow;
  hop.egress_port = 3;
  hop.latency_ns = 4321;
  constexpr std::uint16_t kAsked = telemetry::kNodeId | telemetry::kPorts | telemetry::kHopLatency;
  EXPECT_EQ(telemetry::insert_int(buffer.view, {}, kAsked, 8, hop), telemetry::Outcome::done);
  return buffer.now();
}

// Rank 0's data passed no switch, rank 1's another one.
void give_plain_and_marked(RingSwitch& sw, JobRanks& ranks) {
  sw.inject(0, ranks[0].contribution(0, std::array{1, -2, 3}));
  sw.inject(1, marked(ranks[1].contribution(0, std::array{10, 20, 30})));
  ranks.settle();
}

TEST(LoopTelemetryTurns, C6_MetadataOfWhatTheSwitchSumsEndsHere) {
  RingSwitch sw(with_telemetry(test_config(2)));
  JobRanks ranks(sw, kJob);
  ASSERT_TRUE(ranks.join());
  give_plain_and_marked(sw, ranks);
  const auto sent = sw.sent(0);
  ASSERT_EQ(sent.size(), 1u);
  expect_sums(look_at(sent[0]));
  const auto records = records_of(sw.packet_loop());
  ASSERT_EQ(records.size(), 2u);
  telemetry::Report report;
  report.inner_type = records[0].inner_type;
  report.inner = records[0].inner();
  telemetry::ReportedPath path;
  ASSERT_EQ(telemetry::path_of(report, kNode, {}, path), telemetry::Outcome::done);
  ASSERT_EQ(path.count, 1u);
  EXPECT_EQ(path.hops[0].node, kBelow);
  EXPECT_EQ(path.hops[0].latency_ns, 4321u);
  EXPECT_EQ(sw.packet_loop().engine().counters(0).contributions.get(), 2u);
}

TEST(LoopTelemetryTurns, C6_TheHopsOfAnOpAreKnownBySenderWhereItsDataEnds) {
  RingSwitch sw(with_telemetry(test_config(2)));
  JobRanks ranks(sw, kJob);
  ASSERT_TRUE(ranks.join());
  give_plain_and_marked(sw, ranks);
  const auto known = sw.packet_loop().telemetry()->op_hops().of(kJob, 0);
  ASSERT_EQ(known.size(), 1u) << "rank 0's packet passed no switch";
  EXPECT_EQ(known[0].child, 1);
  EXPECT_EQ(known[0].plane, 0);
  ASSERT_EQ(known[0].path().size(), 1u);
  EXPECT_EQ(known[0].path()[0], (OpHops::Hop{kBelow, 4321}));
}

TEST(LoopTelemetryTurns, C6_MetadataFromAHostIsDroppedAndCountedWhereThatIsTheRule) {
  auto config = with_telemetry(test_config(2));
  config.telemetry.untrusted = config::UntrustedRule::drop;
  RingSwitch sw(config);
  JobRanks ranks(sw, kJob);
  ASSERT_TRUE(ranks.join());
  const Bytes plain = ranks[0].contribution(0, std::array{1, -2, 3});
  sw.inject(0, marked(plain));
  sw.turn();
  EXPECT_EQ(sw.drops(0, DropReason::telemetry_untrusted), 1u);
  EXPECT_EQ(sw.packet_loop().engine().counters(0).contributions.get(), 0u);
  config.telemetry.untrusted = config::UntrustedRule::strip;
  sw.reload(config);
  sw.inject(0, marked(plain));
  sw.turn();
  EXPECT_EQ(sw.drops(0, DropReason::telemetry_untrusted), 1u);
  EXPECT_EQ(sw.packet_loop().engine().counters(0).contributions.get(), 1u);
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

TEST(LoopTelemetryTurns, C6_AReloadDecidesWhichPortsMetadataLeavesThrough) {
  auto config = with_telemetry(test_config(2));
  RingSwitch sw(config);
  JobRanks ranks(sw, kJob);
  ASSERT_TRUE(ranks.join());
  config.telemetry.ports = {{"p0", true, 0}};
  sw.reload(config);
  ranks.contribute(0);
  const auto first = sw.sent(0);
  const auto second = sw.sent(1);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_TRUE(look_at(first[0]).marked);
  EXPECT_FALSE(look_at(second[0]).marked);
}

TEST(LoopTelemetryTurns, C6_WhatWaitsWithMetadataDoesNotLeaveByAPortThatIsTrustedNoLonger) {
  auto config = with_telemetry(test_config(2));
  config.telemetry.ports = {{"p0", true, 0}, {"p1", true, 0}};
  RingSwitch sw(config);
  Bytes plain = telemetry::test::make_frame({});
  plain[5] = std::byte{9};  // behind the other port, for all that the switch knows
  constexpr std::size_t kSent = RingSwitch::kRingSize + kBurst;
  for (std::size_t i = 0; i < kSent; ++i) {
    sw.inject(0, marked(plain));
    if (i % kBurst == kBurst - 1) sw.turn();
  }
  sw.inject(0, plain);
  sw.turn();
  config.telemetry.ports = {{"p0", true, 0}};
  sw.reload(config);
  EXPECT_EQ(sw.sent(1).size(), RingSwitch::kRingSize - 1) << "what the port had";
  sw.turn();
  for (const Bytes& left : sw.sent(1)) {
    EXPECT_FALSE(looks_marked(left, {}));
    EXPECT_EQ(left.size(), plain.size());
  }
  EXPECT_GT(sw.drops(1, DropReason::telemetry_untrusted), 0u);
  sw.inject(0, marked(plain));
  sw.turn();
  EXPECT_EQ(sw.sent(1), std::vector<Bytes>{plain});
  EXPECT_EQ(sw.buffers_in_use(), 0u);
}

// The job's loop is not the one that sends: the hop's latency spans both.
TEST(LoopTelemetryTurns, C5_SeveralLcoresStampWhatOthersSampled) {
  auto config = with_telemetry(two_lcores(2));
  for (const std::uint16_t lcore : {std::uint16_t{0}, std::uint16_t{1}}) {
    config.jobs[0].lcore = lcore;
    RingSwitch sw(config);
    JobRanks ranks(sw, kJob);
    ASSERT_TRUE(ranks.join());
    ranks.contribute(0);
    EXPECT_EQ(sw.sent(0).size(), 1u);
    const auto sent = sw.sent(1);
    ASSERT_EQ(sent.size(), 1u);
    const Seen seen = look_at(sent[0]);
    ASSERT_EQ(seen.hops.size(), 1u);
    expect_sums(seen);
    EXPECT_NE(seen.hops[0].latency_ns, telemetry::kUnknown32);
    EXPECT_LT(seen.hops[0].ingress_port, 2);
    EXPECT_EQ(sw.packet_loop(1).telemetry()->counters().inserted.get(), 1u);
    EXPECT_EQ(sw.packet_loop(lcore).telemetry()->counters().sampled.get(), 1u);
    EXPECT_EQ(records_of(sw.packet_loop(0)).size(), 1u) << "of the port that lcore 0 sends through";
    EXPECT_EQ(sw.buffers_in_use(), 0u);
  }
}

TEST(LoopTelemetryTurns, WithoutTelemetryThereIsNone) {
  auto config = with_telemetry(test_config(2));
  config.telemetry = {};
  RingSwitch sw(config);
  EXPECT_EQ(sw.packet_loop().telemetry(), nullptr);
  JobRanks ranks(sw, kJob);
  ASSERT_TRUE(ranks.join());
  ranks.contribute(0);
  for (const std::size_t port : {0u, 1u})
    for (const Bytes& frame : sw.sent(port)) EXPECT_FALSE(look_at(frame).marked);
}

}  // namespace
}  // namespace tributary::dataplane
