// Metadata at a packet loop's ends: who gets hops, who loses them, and that packets stay what they
// were (C5, C6).
#include "dataplane/telemetry/loop_telemetry.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "dataplane/frame/frame_pool.h"
#include "telemetry/wire/path_of.h"
#include "tests/dataplane/ring_switch.h"
#include "tests/telemetry/wire/frames.h"

namespace tributary::dataplane {
namespace {

using config::StripRule;
using telemetry::Outcome;

constexpr std::uint32_t kNode = 7;
constexpr std::uint32_t kBefore = 9;
constexpr std::uint32_t kJob = 5;
constexpr std::uint16_t kAsked =
    telemetry::kNodeId | telemetry::kPorts | telemetry::kHopLatency | telemetry::kUtilisation;

// Trusted switches behind ports 0 and 1, hosts behind 2 and 3.
config::TelemetryConfig telemetry_config(StripRule rule = StripRule::sink) {
  config::TelemetryConfig config;
  config.node_id = kNode;
  config.strip = rule;
  config.ports = {{"p0", true, 0}, {"p1", true, 10'000}};
  return config;
}

config::SwitchConfig switch_config(const config::TelemetryConfig& telemetry) {
  config::SwitchConfig config;
  config.telemetry = telemetry;
  for (const char* name : {"p0", "p1", "p2", "p3"}) config.ports.push_back({name, "net_null0"});
  config::JobConfig job;
  job.id = kJob;
  job.telemetry = {.latency = true, .bandwidth = true, .every = 2};
  job.planes = 2;
  config.jobs = {job};
  return config;
}

Bytes plain_frame(bool ipv6 = false, std::size_t payload = 64) {
  return telemetry::test::make_frame({.ipv6 = ipv6, .payload = payload});
}

Bytes with_metadata(const Bytes& plain, std::uint8_t most_hops = 8) {
  telemetry::test::Buffer buffer(plain);
  telemetry::Hop hop;
  hop.node = kBefore;
  hop.egress_port = 4;
  hop.latency_ns = 1234;
  EXPECT_EQ(telemetry::insert_int(buffer.view, {}, kAsked, most_hops, hop), Outcome::done);
  return buffer.now();
}

wire::Header result_of(std::uint32_t job) {
  wire::Header header;
  header.type = wire::PacketType::result;
  header.job = job;
  return header;
}

struct Stripped {
  Outcome outcome = Outcome::absent;
  Bytes frame;
  std::vector<telemetry::Hop> hops;  // newest first
};
Stripped strip(const Bytes& frame) {
  telemetry::test::Buffer buffer(frame);
  telemetry::Taken taken;
  telemetry::IntView view;
  Stripped out;
  out.outcome = telemetry::strip_int(buffer.view, {}, taken, view);
  out.frame = buffer.now();
  for (std::size_t i = 0; out.outcome == Outcome::done && i < view.hops(); ++i)
    out.hops.push_back(view.hop(i));
  return out;
}

std::vector<std::uint32_t> nodes_of(const ReportRecord& record) {
  telemetry::Report report;
  report.inner_type = record.inner_type;
  report.inner = record.inner();
  telemetry::ReportedPath path;
  EXPECT_EQ(telemetry::path_of(report, kNode, {}, path), Outcome::done);
  std::vector<std::uint32_t> nodes;
  for (std::size_t i = 0; i < path.count; ++i) nodes.push_back(path.hops[i].node);
  return nodes;
}

class Telemetry : public testing::Test {
 protected:
  Telemetry() {
    start_test_eal();
    pool = std::make_unique<FramePool>(PoolSize{1023, 4096});
    identity.mac = {2, 0, 0, 0, 0, 0x77};
    start(telemetry_config());
  }
  ~Telemetry() override { EXPECT_EQ(pool->free_buffers(), pool->buffers()); }

  void start(const config::TelemetryConfig& telemetry) {
    loop = std::make_unique<LoopTelemetry>(switch_config(telemetry), pool->get());
  }
  // nullptr: it is to be dropped.
  rte_mbuf* receive(std::uint16_t port, const Bytes& bytes) {
    rte_mbuf* frame = make_frame(pool->get(), bytes);
    if (loop->take_in(identity, port, {&frame, 1}, 1000) == 1) return frame;
    rte_pktmbuf_free(frame);
    return nullptr;
  }
  // One buffer to these ports; what the driver gets at each.
  std::vector<Bytes> send(rte_mbuf* frame, const std::vector<std::uint16_t>& ports) {
    rte_mbuf_refcnt_update(frame, static_cast<std::int16_t>(ports.size() - 1));
    std::vector<Bytes> out;
    for (const std::uint16_t port : ports) {
      rte_mbuf* own = frame;
      EXPECT_TRUE(loop->stamp(departure(port, 3), {&own, 1}).none());
      EXPECT_FALSE(has_note(own));
      out.push_back(take_bytes(own));
    }
    return out;
  }
  static Departure departure(std::uint16_t port, std::uint32_t queue = 0) {
    return {.port = port, .mtu = 1500, .queue = queue, .tx_bytes = 0};
  }
  // Until the returned buffers are freed there are none.
  std::vector<rte_mbuf*> take_all_buffers() {
    std::vector<rte_mbuf*> all;
    for (rte_mbuf* taken = nullptr; (taken = rte_pktmbuf_alloc(pool->get())) != nullptr;)
      all.push_back(taken);
    return all;
  }
  ReportRecord record() {
    ReportRecord out;
    EXPECT_TRUE(loop->ring().pop(out));
    return out;
  }
  const TelemetryCounters& counters() { return loop->counters(); }

  std::unique_ptr<FramePool> pool;
  Identity identity;
  std::unique_ptr<LoopTelemetry> loop;
};

TEST_F(Telemetry, AHopIsAddedTowardTrustedPortsAndAllOfThemTakenOutTowardHosts) {
  for (const bool ipv6 : {false, true}) {
    start(telemetry_config());
    const Bytes plain = plain_frame(ipv6);
    const auto sent = send(receive(0, with_metadata(plain)), {1, 2, 3});
    const Stripped there = strip(sent[0]);
    EXPECT_EQ(there.frame, plain);
    ASSERT_EQ(there.hops.size(), 2u);
    EXPECT_EQ(there.hops[0].node, kNode);
    EXPECT_EQ(there.hops[0].ingress_port, 0);
    EXPECT_EQ(there.hops[0].egress_port, 1);
    EXPECT_NE(there.hops[0].latency_ns, telemetry::kUnknown32);
    EXPECT_EQ(there.hops[1].node, kBefore);
    EXPECT_EQ(there.hops[1].latency_ns, 1234u);
    // Each copy to a host is the packet, and is told of.
    for (const std::uint16_t port : {std::uint16_t{2}, std::uint16_t{3}}) {
      EXPECT_EQ(sent[port - 1], plain);
      const ReportRecord told = record();
      EXPECT_EQ(told.own.egress_port, port);
      EXPECT_EQ(told.own.node, kNode);
      EXPECT_FALSE(told.intermediate);
      EXPECT_EQ(nodes_of(told), std::vector{kBefore});
    }
    EXPECT_EQ(counters().hops_added.get(), 1u);
    EXPECT_EQ(counters().stripped.get(), 2u);
  }
}

TEST_F(Telemetry, NothingComesInThroughAnUntrustedPort) {
  const Bytes plain = plain_frame();
  for (const Bytes& sent : send(receive(2, with_metadata(plain)), {0, 3})) EXPECT_EQ(sent, plain);
  EXPECT_EQ(counters().untrusted.get(), 1u);
  EXPECT_TRUE(loop->ring().empty());

  auto dropping = telemetry_config();
  dropping.untrusted = config::UntrustedRule::drop;
  start(dropping);
  EXPECT_EQ(receive(2, with_metadata(plain)), nullptr);
  EXPECT_EQ(send(receive(2, plain), {3})[0], plain);
  EXPECT_EQ(counters().untrusted.get(), 1u);
}

TEST_F(Telemetry, FramesThatStayKeepTheirOrder) {
  auto dropping = telemetry_config();
  dropping.untrusted = config::UntrustedRule::drop;
  start(dropping);
  std::vector<rte_mbuf*> burst;
  for (std::size_t i = 0; i < 6; ++i) {
    const Bytes plain = plain_frame(false, 64 + i);
    burst.push_back(make_frame(pool->get(), i % 2 == 0 ? with_metadata(plain) : plain));
  }
  ASSERT_EQ(loop->take_in(identity, 2, burst, 1000), 3u);
  for (std::size_t i = 0; i < 6; ++i) {
    const Bytes bytes = take_bytes(burst[i]);
    if (i < 3) {
      EXPECT_EQ(bytes, plain_frame(false, 65 + 2 * i));
    }
  }
}

TEST_F(Telemetry, WhatCannotBeMetadataStaysAsItIs) {
  Bytes frame = with_metadata(plain_frame());
  frame[14 + 20 + 8 + 1] = std::byte{0xFF};  // a stack beyond the packet
  for (const std::uint16_t port : {std::uint16_t{0}, std::uint16_t{2}})
    EXPECT_EQ(send(receive(port, frame), {3})[0], frame);
  EXPECT_EQ(counters().malformed.get(), 2u);
}

// Marked by the port, while the area says that it is marked by DSCP.
TEST_F(Telemetry, WhatCannotBeMetadataDoesNotComeInWhereMetadataMayNot) {
  Bytes beyond = with_metadata(plain_frame());
  beyond[14 + 20 + 8 + 1] = std::byte{0xFF};
  Bytes by_dscp = with_metadata(plain_frame());
  by_dscp[14 + 20 + 8] &= std::byte{0xF0};
  EXPECT_EQ(send(receive(2, by_dscp), {3})[0], by_dscp);
  EXPECT_EQ(counters().malformed.get(), 1u);
  EXPECT_EQ(counters().untrusted.get(), 0u);

  auto dropping = telemetry_config();
  dropping.untrusted = config::UntrustedRule::drop;
  start(dropping);
  for (const Bytes& frame : {beyond, by_dscp}) {
    EXPECT_EQ(receive(2, frame), nullptr);
    EXPECT_EQ(send(receive(0, frame), {3})[0], frame) << "a switch may say so";
  }
  EXPECT_EQ(counters().malformed.get(), 4u);
}

TEST_F(Telemetry, AtEveryHopMetadataIsTakenOutAndBegunAnew) {
  start(telemetry_config(StripRule::every_hop));
  const Bytes plain = plain_frame();
  const Stripped there = strip(send(receive(0, with_metadata(plain)), {1})[0]);
  EXPECT_EQ(there.frame, plain);
  ASSERT_EQ(there.hops.size(), 1u);
  EXPECT_EQ(there.hops[0].node, kNode);
  const ReportRecord told = record();
  EXPECT_TRUE(told.intermediate);
  EXPECT_EQ(told.bitmap, 0);  // the next hop tells of this one
  EXPECT_EQ(nodes_of(told), std::vector{kBefore});
}

TEST_F(Telemetry, AnMtuThatWouldBeExceededEndsWhatIsThere) {
  for (const StripRule rule : {StripRule::sink, StripRule::mtu}) {
    start(telemetry_config(rule));
    // Room for one hop, and for no second.
    const Bytes plain = plain_frame(false, 1500 - 28 - 16 - 16);
    const Stripped there = strip(send(receive(0, with_metadata(plain)), {1})[0]);
    EXPECT_EQ(there.frame, plain);
    ASSERT_EQ(there.hops.size(), 1u);
    EXPECT_EQ(there.hops[0].node, rule == StripRule::mtu ? kNode : kBefore);
    EXPECT_EQ(counters().no_space.get(), 1u);
    if (rule == StripRule::mtu) {
      EXPECT_EQ(nodes_of(record()), std::vector{kBefore});
    }
    EXPECT_TRUE(loop->ring().empty());
  }
}

TEST_F(Telemetry, AHopCountThatIsUsedUpAddsNothing) {
  const auto sent = send(receive(0, with_metadata(plain_frame(), 1)), {1});
  EXPECT_EQ(strip(sent[0]).hops.size(), 1u);
  EXPECT_EQ(counters().no_space.get(), 1u);
}

TEST_F(Telemetry, WhatIsForTheSwitchEndsHere) {
  Bytes plain = plain_frame();
  for (std::size_t i = 0; i < 6; ++i) plain[i] = static_cast<std::byte>(identity.mac[i]);
  rte_mbuf* const frame = receive(0, with_metadata(plain));
  EXPECT_FALSE(has_note(frame));
  EXPECT_EQ(take_bytes(frame), plain);
  const ReportRecord told = record();
  EXPECT_EQ(nodes_of(told), std::vector{kBefore});
  EXPECT_EQ(told.own.ingress_port, 0);
  EXPECT_EQ(told.own.egress_port, telemetry::kUnknown16);
}

TEST_F(Telemetry, WhatTheSwitchAboveSaysToAGroupEndsHere) {
  Bytes plain = plain_frame();
  plain[0] = std::byte{1};  // a group
  identity.parents = {{0x0A000002, 0x0A000001}};
  EXPECT_EQ(take_bytes(receive(0, with_metadata(plain))), plain);
  identity.parents = {{0x0A000002, 0x0A000009}};
  const auto sent = send(receive(0, with_metadata(plain)), {1});
  EXPECT_EQ(strip(sent[0]).hops.size(), 2u);
}

TEST_F(Telemetry, SampledResultsAreTheSameBytesOnceTheyAreStripped) {
  const Bytes plain = plain_frame();
  loop->attribute(2, 1000);
  for (std::uint32_t seq = 0; seq < 4; ++seq) {
    wire::Header header = result_of(kJob);
    header.seq = seq;
    rte_mbuf* const frame = make_frame(pool->get(), plain);
    loop->sample(header, frame);
    const auto sent = send(frame, {1, 2});
    EXPECT_EQ(sent[1], plain);
    if (seq % 2 != 0) {
      EXPECT_EQ(sent[0], plain);
      continue;
    }
    const Stripped there = strip(sent[0]);
    EXPECT_EQ(there.frame, plain);
    ASSERT_EQ(there.hops.size(), 1u);
    EXPECT_EQ(there.hops[0].ingress_port, 2);
    EXPECT_EQ(there.hops[0].queue_occupancy, 3u);
    const ReportRecord told = record();  // of the copy to the host
    EXPECT_EQ(told.own.egress_port, 2);
    EXPECT_EQ(told.inner_bytes, 0);
  }
  wire::Header control = result_of(kJob);
  control.type = wire::PacketType::start;
  for (const wire::Header& other : {result_of(kJob + 1), control}) {
    rte_mbuf* const frame = make_frame(pool->get(), plain);
    loop->sample(other, frame);
    EXPECT_EQ(send(frame, {1})[0], plain);
  }
  EXPECT_EQ(counters().sampled.get(), 2u);
  EXPECT_EQ(counters().inserted.get(), 2u);
  EXPECT_TRUE(loop->ring().empty());
}

TEST_F(Telemetry, C7_TheEndOfAnOpIsToldOnceWhereTheJobsDataEnds) {
  wire::Header last = result_of(kJob);
  last.flags = wire::kFlagLast;
  last.seq = 1;  // is not sampled
  last.op = 3;
  last.epoch = 9;
  const auto pass = [&](const wire::Header& header) {
    rte_mbuf* const frame = make_frame(pool->get(), plain_frame());
    loop->note_end(header);
    loop->sample(header, frame);
    EXPECT_FALSE(has_note(frame));
    rte_pktmbuf_free(frame);
  };
  pass(last);
  pass(last);  // a copy, for another group of ports
  const ReportRecord told = record();
  EXPECT_EQ(told.of_domain.op_end, (telemetry::OpEnd{kJob, 3, 9, 0, 2}));
  EXPECT_EQ(told.own.node, kNode);
  EXPECT_EQ(told.own.egress_port, telemetry::kUnknown16);
  wire::Header other = last;
  other.flags = 0;
  pass(other);
  other = last;
  other.type = wire::PacketType::aggregate;
  pass(other);
  other = last;
  other.job = kJob + 1;
  pass(other);
  EXPECT_TRUE(loop->ring().empty());
  last.plane = 1;
  pass(last);
  EXPECT_EQ(record().of_domain.op_end->plane, 1);

  auto below = switch_config(telemetry_config());
  below.jobs[0].parent.emplace();
  loop = std::make_unique<LoopTelemetry>(below, pool->get());
  last.op = 4;
  pass(last);
  EXPECT_TRUE(loop->ring().empty()) << "its data ends at the switch above";
}

TEST_F(Telemetry, WhatTheControlThreadDoesNotTakeIsCounted) {
  constexpr std::size_t kFrames = kReportRingSize + 5;
  const Bytes frame = with_metadata(plain_frame());
  for (std::size_t i = 0; i < kFrames; ++i) send(receive(0, frame), {2});
  EXPECT_EQ(counters().reports.get(), kReportRingSize);
  EXPECT_EQ(counters().reports_lost.get(), kFrames - kReportRingSize);
}

TEST_F(Telemetry, WithoutABufferTheHopIsStillReported) {
  const wire::Header header = result_of(kJob);
  rte_mbuf* const frame = make_frame(pool->get(), plain_frame());
  loop->sample(header, frame);
  rte_mbuf_refcnt_update(frame, 1);  // another port has it, too
  const auto rest = take_all_buffers();
  rte_mbuf* own = frame;
  EXPECT_TRUE(loop->stamp(departure(1), {&own, 1}).none());
  EXPECT_EQ(own, frame);
  EXPECT_EQ(record().own.egress_port, 1);
  for (rte_mbuf* taken : rest) rte_pktmbuf_free(taken);
  rte_pktmbuf_free(frame);
  rte_pktmbuf_free(frame);
}

TEST_F(Telemetry, WithoutABufferMetadataLeavesTowardNoHost) {
  const Bytes marked = with_metadata(plain_frame());
  rte_mbuf* const frame = receive(0, marked);
  rte_mbuf_refcnt_update(frame, 1);  // another port has it, too
  const auto rest = take_all_buffers();
  for (const std::uint16_t port : {std::uint16_t{1}, std::uint16_t{2}}) {
    std::array<rte_mbuf*, 2> own = {rest[0], frame};
    EXPECT_EQ(loop->stamp(departure(port), own).to_ulong(), port == 1 ? 0u : 2u);
    EXPECT_EQ(own[1], frame);
  }
  EXPECT_EQ(counters().no_space.get(), 1u);
  EXPECT_EQ(counters().unstripped.get(), 1u);
  for (rte_mbuf* taken : rest) rte_pktmbuf_free(taken);
  rte_pktmbuf_free(frame);
  EXPECT_EQ(take_bytes(frame), marked);
}

TEST_F(Telemetry, WithoutABufferAChainedFrameGoesNowhere) {
  const Bytes marked = with_metadata(plain_frame());
  for (const std::uint16_t port : {std::uint16_t{0}, std::uint16_t{2}}) {
    rte_mbuf* frame = make_frame(pool->get(), marked);
    rte_mbuf* const behind = make_frame(pool->get(), Bytes(4));
    ASSERT_EQ(rte_pktmbuf_chain(frame, behind), 0);
    const auto rest = take_all_buffers();
    EXPECT_EQ(loop->take_in(identity, port, {&frame, 1}, 1000), 0u);
    for (rte_mbuf* taken : rest) rte_pktmbuf_free(taken);
    rte_pktmbuf_free(frame);
  }
}

TEST_F(Telemetry, C6_ADropAtAPortIsReportedWithItsQueue) {
  rte_mbuf* const frame = receive(0, with_metadata(plain_frame()));
  loop->report_drop(departure(1, 70), frame);
  const ReportRecord told = record();
  EXPECT_TRUE(told.dropped);
  EXPECT_EQ(told.own.ingress_port, 0);
  EXPECT_EQ(told.own.egress_port, 1);
  EXPECT_EQ(told.own.queue_occupancy, 70u);
  EXPECT_EQ(told.bitmap, telemetry::kPorts | telemetry::kQueue);
  EXPECT_EQ(told.inner_bytes, 0);
  rte_mbuf* own = frame;
  loop->stamp(departure(2), {&own, 1});
  EXPECT_FALSE(record().dropped);
  rte_pktmbuf_free(own);
}

}  // namespace
}  // namespace tributary::dataplane
