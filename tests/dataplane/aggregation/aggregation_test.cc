// The loop end to end: frames in, engine, frames out, with explicit time.
#include "dataplane/aggregation/aggregation.h"

#include <gtest/gtest.h>

#include "core/net/checksum.h"
#include "core/wire/ecn.h"
#include "tests/dataplane/test_packet_loop.h"

namespace tributary::dataplane {
namespace {

config::SwitchConfig job_config(wire::Integrity integrity = wire::Integrity::udp_checksum) {
  auto config = test_config(3);
  config::JobConfig job;
  job.id = 5;
  job.name = "job";
  job.workers = 2;
  job.window = 8;
  job.chunk_bytes = 64;
  job.deadline = Duration::seconds(1);
  job.integrity = integrity;
  config.jobs = {job};
  return config;
}

// Two ranks behind ports 0 and 1; port 2 leads elsewhere.
class Aggregating : public testing::Test {
 protected:
  void start(const config::SwitchConfig& config, bool checks_udp = false) {
    sw = std::make_unique<RingSwitch>(config, config::Machine{}, checks_udp);
    const bool crc = config.jobs[0].integrity == wire::Integrity::crc32c;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      ranks.emplace_back(config, 5, rank, std::uint16_t{2});
      ranks.back().use_crc32c = crc;
    }
  }
  void join() {
    for (std::uint32_t rank = 0; rank < 2; ++rank) sw->inject(rank, ranks[rank].join(100 + rank));
    sw->turn();
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      const auto frames = sw->sent(rank);
      ASSERT_FALSE(frames.empty());
      const auto start = read_packet(frames.back());
      ASSERT_TRUE(start);
      ASSERT_EQ(start->packet.header.type, wire::PacketType::start);
      EXPECT_EQ(wire::find_nonce(start->packet.extensions), 100 + rank);
      EXPECT_EQ(start->udp.endpoints,
                (wire::UdpEndpoints{0x0A4D00FE, ranks[rank].ipv4(), 47000, 6000}));
      EXPECT_EQ(start->ethernet.destination, ranks[rank].mac());
      ranks[rank].epoch = start->packet.header.epoch;
    }
  }
  void complete(std::uint32_t seq) {
    sw->inject(0, ranks[0].contribution(seq, std::array{1, -2, 3}));
    sw->inject(1, ranks[1].contribution(seq, std::array{10, 20, 30}));
    sw->turn();
  }
  void expect_result(const Bytes& frame, std::uint32_t seq) {
    const auto result = read_packet(frame);
    ASSERT_TRUE(result);
    const auto& h = result->packet.header;
    EXPECT_EQ(h.type, wire::PacketType::result);
    EXPECT_EQ(h.seq, seq);
    EXPECT_EQ(h.covered, 2u);
    EXPECT_EQ(result->udp.endpoints,
              (wire::UdpEndpoints{0x0A4D00FE, config::job_group_ipv4(5), 47000, 47000}));
    EXPECT_EQ(result->ethernet.destination, wire::multicast_mac(config::job_group_ipv4(5)));
    const std::array expected = {11, 18, 33};
    ASSERT_EQ(result->packet.payload.size(), sizeof expected);
    EXPECT_EQ(std::memcmp(result->packet.payload.data(), expected.data(), sizeof expected), 0);
  }

  std::unique_ptr<RingSwitch> sw;
  std::vector<TestWorker> ranks;
};

TEST_F(Aggregating, JoinStartContributionsResultToMembersPorts) {
  start(job_config());
  join();
  complete(0);
  for (const std::size_t port : {0u, 1u}) {
    const auto frames = sw->sent(port);
    ASSERT_EQ(frames.size(), 1u);
    expect_result(frames[0], 0);
  }
  EXPECT_TRUE(sw->sent(2).empty());  // no member there
  EXPECT_EQ(sw->packet_loop().engine().counters(0).completions.get(), 1u);
  EXPECT_EQ(sw->packet_loop().port_counters(0).drops.total(), 0u);
}

// Protocol rule 19: a packet being sent is never written again.
TEST_F(Aggregating, ResultIsOneBufferAndNeverWrittenAfterSend) {
  start(job_config());
  join();
  complete(0);
  const auto first = sw->sent_buffers(0);
  const auto second = sw->sent_buffers(1);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second, first);
  EXPECT_EQ(rte_mbuf_refcnt_read(first[0]), 2);
  const auto* data = rte_pktmbuf_mtod(first[0], const std::byte*);
  const Bytes before(data, data + first[0]->data_len);
  // Enough traffic to reuse every engine buffer.
  for (std::uint32_t seq = 1; seq < 40; ++seq) {
    complete(seq);
    ASSERT_EQ(sw->sent(0).size(), 1u);
    ASSERT_EQ(sw->sent(1).size(), 1u);
  }
  EXPECT_EQ(Bytes(data, data + first[0]->data_len), before);
  rte_pktmbuf_free(first[0]);
  rte_pktmbuf_free(first[0]);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
}

TEST_F(Aggregating, Crc32cJobIsSealedBothWays) {
  start(job_config(wire::Integrity::crc32c));
  join();
  complete(0);
  const auto frames = sw->sent(0);
  ASSERT_EQ(frames.size(), 1u);
  expect_result(frames[0], 0);
  const auto result = read_packet(frames[0]);
  EXPECT_EQ(result->udp.checksum, 0);
  EXPECT_TRUE(wire::find_extension(result->packet.extensions, wire::ExtensionType::crc32c));
}

// Rule 15: from the IP header of one rank's data to the header flag of all ranks' result.
TEST_F(Aggregating, Rule15_AQueueOnOneRanksWayIsEveryRanksMark) {
  for (const auto integrity : {wire::Integrity::udp_checksum, wire::Integrity::crc32c}) {
    ranks.clear();
    sw.reset();
    start(job_config(integrity));
    join();
    Bytes marked = ranks[1].contribution(0, std::array{10, 20, 30});
    marked[wire::kEthernetBytes + 1] = std::byte{wire::kEct0};
    marked[wire::kEthernetBytes + 10] = marked[wire::kEthernetBytes + 11] = std::byte{0};
    const std::uint16_t sum = wire::ones_complement_sum(
        std::span(marked).subspan(wire::kEthernetBytes, wire::kIpv4Bytes));
    const auto inverse = static_cast<std::uint16_t>(~sum);
    std::memcpy(marked.data() + wire::kEthernetBytes + 10, &inverse, sizeof inverse);
    ASSERT_TRUE(wire::mark_congestion(marked));
    sw->inject(0, ranks[0].contribution(0, std::array{1, -2, 3}));
    sw->inject(1, marked);
    sw->turn();
    for (const std::size_t port : {0u, 1u}) {
      const auto frames = sw->sent(port);
      ASSERT_EQ(frames.size(), 1u);
      expect_result(frames[0], 0);
      const auto result = read_packet(frames[0]);
      EXPECT_NE(result->packet.header.flags & wire::kFlagCe, 0u);
      EXPECT_FALSE(result->udp.congestion_experienced);
      EXPECT_EQ(std::to_integer<int>(frames[0][wire::kEthernetBytes + 1]), wire::kEct0);
    }
    complete(1);
    EXPECT_EQ(read_packet(sw->sent(0).at(0))->packet.header.flags & wire::kFlagCe, 0u);
    EXPECT_EQ(sw->packet_loop().engine().counters(0).marked_data.get(), 1u);
  }
}

TEST_F(Aggregating, VlanOfTheMembersIsKept) {
  start(job_config());
  for (auto& rank : ranks) rank.vlan_tci = std::uint16_t{12};
  join();
  complete(0);
  const auto frames = sw->sent(1);
  ASSERT_EQ(frames.size(), 1u);
  expect_result(frames[0], 0);
  EXPECT_EQ(read_packet(frames[0])->ethernet.vlan_tci, 12);
}

TEST_F(Aggregating, EachVlanAmongTheMembersGetsItsCopy) {
  start(job_config());
  ranks[1].vlan_tci = std::uint16_t{12};
  join();
  complete(0);
  const std::array<std::optional<std::uint16_t>, 2> tags = {std::nullopt, std::uint16_t{12}};
  for (const std::size_t port : {0u, 1u}) {
    const auto frames = sw->sent(port);
    ASSERT_EQ(frames.size(), 1u);
    expect_result(frames[0], 0);
    EXPECT_EQ(read_packet(frames[0])->ethernet.vlan_tci, tags[port]);
  }
}

TEST_F(Aggregating, MembersOfTwoVlansBehindOnePortGetACopyEach) {
  start(job_config());
  ranks[0].vlan_tci = std::uint16_t{12};
  ranks[1].vlan_tci = std::uint16_t{13};
  for (std::uint32_t rank = 0; rank < 2; ++rank) sw->inject(2, ranks[rank].join(100 + rank));
  sw->turn();
  for (const auto& frame : sw->sent(2))
    ranks[0].epoch = ranks[1].epoch = read_packet(frame)->packet.header.epoch;
  sw->inject(2, ranks[0].contribution(0, std::array{1, -2, 3}));
  sw->inject(2, ranks[1].contribution(0, std::array{10, 20, 30}));
  sw->turn();
  const auto frames = sw->sent(2);
  ASSERT_EQ(frames.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    expect_result(frames[i], 0);
    EXPECT_EQ(read_packet(frames[i])->ethernet.vlan_tci, 12 + i);
  }
}

// T22: slot-hold time is bounded by the deadline, on the loop's own clock.
TEST_F(Aggregating, DeadlineAbortsTheEpochToTheGroup) {
  config::SwitchConfig config = job_config();
  config.jobs[0].on_deadline = config::OnDeadline::abort;
  start(config);
  join();
  sw->inject(0, ranks[0].contribution(0, std::array{1}));
  sw->turn();
  sw->now = sw->now + Duration::seconds(1) - Duration::ns(1);
  sw->turn();
  EXPECT_TRUE(sw->sent(0).empty());
  sw->now = sw->now + Duration::ns(1);
  sw->turn();
  for (const std::size_t port : {0u, 1u}) {
    const auto frames = sw->sent(port);
    ASSERT_EQ(frames.size(), 1u);
    const auto abort = read_packet(frames[0]);
    ASSERT_TRUE(abort);
    EXPECT_EQ(abort->packet.header.type, wire::PacketType::abort);
    EXPECT_EQ(abort->packet.header.reason, wire::Reason::deadline);
    std::array<std::uint32_t, 4> missing{};
    ASSERT_EQ(wire::find_missing_ids(abort->packet.extensions, missing), 1u);
    EXPECT_EQ(missing[0], 1u);
  }
  EXPECT_EQ(sw->packet_loop().engine().counters(0).slots_open.get(), 0u);
}

TEST_F(Aggregating, ShutDownTellsTheGroup) {
  start(job_config());
  join();
  sw->packet_loop().shut_down(sw->now);
  const auto frames = sw->sent(0);
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(read_packet(frames[0])->packet.header.reason, wire::Reason::shutdown);
}

TEST_F(Aggregating, MalformedPacketsAreCountedByReason) {
  start(job_config());
  join();
  const Bytes good = ranks[0].contribution(0, std::array{1, 2, 3});
  const auto mutated = [&](std::size_t offset, int value, bool fix_checksum) {
    Bytes frame = good;
    frame[offset] = static_cast<std::byte>(value);
    if (fix_checksum) {
      wire::FrameTemplate t{config::derived_mac(0x0A4D00FE),
                            ranks[0].mac(),
                            std::nullopt,
                            {ranks[0].ipv4(), 0x0A4D00FE, 6000, 47000}};
      wire::write_frame_headers(t, frame, frame.size() - wire::kUdpPayloadOffset);
    }
    return frame;
  };
  Bytes unprotected = good;
  unprotected[40] = unprotected[41] = std::byte{0};
  Bytes truncated = good;
  truncated.resize(60);
  const std::vector<std::pair<Bytes, DropReason>> cases = {
      {mutated(42, 2, true), DropReason::bad_version},
      {mutated(43, 99, true), DropReason::bad_type},
      {mutated(44, 0x80, true), DropReason::bad_flags},
      {mutated(84, 77, true), DropReason::bad_dtype},
      {mutated(85, 0, true), DropReason::bad_reduce_op},
      {mutated(87, 200, true), DropReason::bad_payload_length},
      {mutated(90, 9, true), DropReason::bad_encoding},
      {mutated(91, 0xF0, true), DropReason::bad_collective},
      {mutated(95, 200, true), DropReason::bad_extension},
      {mutated(100, 0x55, false), DropReason::checksum},
      {mutated(14, 0x46, false), DropReason::frame_bad_ip},
      {mutated(39, 9, false), DropReason::frame_bad_udp},
      {unprotected, DropReason::no_integrity},
      {truncated, DropReason::frame_truncated},
  };
  for (const auto& [frame, reason] : cases) {
    const std::uint64_t before = sw->drops(0, reason);
    const std::uint64_t all = sw->packet_loop().port_counters(0).drops.total();
    sw->inject(0, frame);
    sw->turn();
    EXPECT_EQ(sw->drops(0, reason), before + 1) << drop_label(reason);
    EXPECT_EQ(sw->packet_loop().port_counters(0).drops.total(), all + 1) << drop_label(reason);
  }
  sw->inject(0, good, 2);
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::frame_multi_segment), 1u);
  for (const std::size_t port : {0u, 1u, 2u}) EXPECT_TRUE(sw->sent(port).empty());
  // The epoch is unharmed.
  complete(0);
  EXPECT_EQ(sw->sent(0).size(), 1u);
}

// A contribution whose payload has changed on its way.
Bytes damaged(TestWorker& rank, std::uint32_t seq) {
  Bytes frame = rank.contribution(seq, std::array{1, -2, 3});
  frame[100] ^= std::byte{0x40};
  return frame;
}

// Rule 18: what a device has checked is not checked again; only where it is the port's device that
// says so, only where it says that all is well, and only of a packet that has a checksum.
TEST_F(Aggregating, Rule18_ADeviceThatChecksIsBelievedAndNobodyElse) {
  start(job_config(), true);
  join();
  sw->inject_marked(0, damaged(ranks[0], 0), RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN);
  sw->inject_marked(0, damaged(ranks[0], 0), RTE_MBUF_F_RX_L4_CKSUM_BAD);
  sw->inject_marked(0, damaged(ranks[0], 0), RTE_MBUF_F_RX_L4_CKSUM_NONE);
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::checksum), 3u);
  Bytes without = ranks[0].contribution(0, std::array{1, -2, 3});
  without[40] = without[41] = std::byte{0};
  sw->inject_marked(0, without, RTE_MBUF_F_RX_L4_CKSUM_GOOD);
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::no_integrity), 1u);
  // A device may be wrong about what is right.
  sw->inject_marked(0, ranks[0].contribution(0, std::array{1, -2, 3}), RTE_MBUF_F_RX_L4_CKSUM_BAD);
  sw->inject(1, ranks[1].contribution(0, std::array{10, 20, 30}));
  sw->turn();
  expect_result(sw->sent(0).at(0), 0);
  // A sum of data that no device would have let pass proves that the checksum is not checked again.
  sw->inject_marked(0, damaged(ranks[0], 1), RTE_MBUF_F_RX_L4_CKSUM_GOOD);
  sw->inject(1, ranks[1].contribution(1, std::array{10, 20, 30}));
  sw->turn();
  EXPECT_EQ(sw->sent(0).size(), 1u);
  EXPECT_EQ(sw->drops(0, DropReason::checksum), 3u);
}

// A guest may write what it likes into the flags of its frames.
TEST_F(Aggregating, Rule18_MarksOfAPortThatChecksNothingMeanNothing) {
  start(job_config());
  join();
  sw->inject_marked(0, damaged(ranks[0], 0), RTE_MBUF_F_RX_L4_CKSUM_GOOD);
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::checksum), 1u);
}

// A CRC32C is from end to end: no device knows it.
TEST_F(Aggregating, Rule18_ACrc32cIsCheckedWhateverTheDeviceSays) {
  start(job_config(wire::Integrity::crc32c), true);
  join();
  Bytes frame = ranks[0].contribution(0, std::array{1, -2, 3});
  frame.back() ^= std::byte{1};
  sw->inject(0, frame);
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::crc32c), 1u);
}

// Sums of data that was not read yet are made at the end of the burst: many chunks of both ranks.
TEST_F(Aggregating, SumsOfCheckedBurstsAreThoseOfOthers) {
  start(job_config(), true);
  join();
  for (std::uint32_t first = 0; first < 40; first += 8) {
    for (std::uint32_t seq = first; seq < first + 8; ++seq) {
      sw->inject(0, ranks[0].contribution(seq, std::array{1, -2, 3}));
      sw->inject(1, ranks[1].contribution(seq, std::array{10, 20, 30}));
    }
    sw->turn();
    const auto frames = sw->sent(1);
    ASSERT_EQ(frames.size(), 8u);
    for (std::uint32_t i = 0; i < 8; ++i) expect_result(frames[i], first + i);
    EXPECT_EQ(sw->sent(0).size(), 8u);
  }
}

TEST_F(Aggregating, RefusalsToStrangersAreRateLimited) {
  start(job_config());
  const auto config = sw->config();
  const TestWorker stranger(config, 999, 0, 2);
  const Bytes packet = stranger.frame(stranger.header(wire::PacketType::lease), {}, {});
  std::size_t answers = 0;
  const auto burst = [&](std::size_t packets) {
    for (std::size_t i = 0; i < packets; ++i) sw->inject(2, packet);
    while (sw->turn() != 0) answers += sw->sent(2).size();
  };
  burst(400);
  EXPECT_EQ(answers, std::size_t{Lane::kRefusalBurst});
  EXPECT_EQ(sw->drops(2, DropReason::unknown_job), 400u);
  EXPECT_EQ(sw->drops(2, DropReason::reply_limit), 400u - Lane::kRefusalBurst);
  sw->now = sw->now + Duration::ms(10);
  answers = 0;
  burst(20);
  EXPECT_EQ(answers, 10u);
}

// Others that fill a port which cannot keep up take neither a result's room nor its turn.
TEST_F(Aggregating, AResultHasItsShareOfAPortThatOthersFlood) {
  start(job_config());
  join();
  constexpr std::size_t kBytes = 1000;
  Bytes flood(kBytes);
  const wire::MacAddress station = ranks[0].mac();
  const wire::MacAddress source = {2, 0, 0, 0, 9, 9};
  std::memcpy(flood.data(), station.data(), station.size());
  std::memcpy(flood.data() + station.size(), source.data(), source.size());
  flood[12] = std::byte{0x88};
  flood[13] = std::byte{0xB5};
  for (std::size_t sent = 0; sent < 2 * RingSwitch::kRingSize; sent += kBurst) {
    for (std::size_t i = 0; i < kBurst; ++i) sw->inject(2, flood);
    sw->turn();
  }
  const std::uint64_t lost = sw->drops(0, DropReason::tx_full);
  ASSERT_GT(lost, 0u);
  complete(0);
  EXPECT_EQ(sw->drops(0, DropReason::tx_full), lost);
  EXPECT_EQ(sw->sent(0).size(), RingSwitch::kRingSize - 1);
  sw->turn();
  const auto frames = sw->sent(0);
  std::size_t before = 0;
  while (before < frames.size() && frames[before] == flood) ++before;
  ASSERT_LT(before, frames.size()) << "the result is not there";
  expect_result(frames[before], 0);
  EXPECT_LE(before, kBurst + FairBacklog::kQuantum / kBytes + 1);
  EXPECT_EQ(frames.size(), FairBacklog::kRoom + 1);
}

TEST_F(Aggregating, EmptyPoolIsCountedAtTheEgressPorts) {
  start(job_config());
  join();
  sw->inject(0, ranks[0].contribution(0, std::array{1}));
  sw->inject(1, ranks[1].contribution(0, std::array{1}));
  std::vector<rte_mbuf*> hoard;
  while (rte_mbuf* buffer = rte_pktmbuf_alloc(sw->pool())) hoard.push_back(buffer);
  sw->turn();
  // One buffer comes back from each contribution only after the answer was tried.
  EXPECT_EQ(sw->drops(0, DropReason::no_mbuf) + sw->sent(0).size(), 1u);
  for (rte_mbuf* buffer : hoard) rte_pktmbuf_free(buffer);
  EXPECT_EQ(sw->packet_loop().engine().counters(0).completions.get(), 1u);
}

}  // namespace
}  // namespace tributary::dataplane
