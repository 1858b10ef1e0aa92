// Fragments through whole turns of the loop: to the switch, from it, and past it.
#include "dataplane/udp/reassembly.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/net/fragment.h"
#include "tests/dataplane/fragments.h"
#include "tests/dataplane/ip_frame.h"
#include "tests/dataplane/test_packet_loop.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kJob = 3;
constexpr std::size_t kElements = 900;  // three fragments of an MTU of 1500

config::SwitchConfig fragment_config(std::size_t ports, std::uint32_t datagrams = 16) {
  auto config = test_config(ports);
  config.fragments.datagrams = datagrams;
  config::JobConfig job;
  job.id = kJob;
  job.name = "job3";
  job.workers = 2;
  job.window = 8;
  job.chunk_bytes = 4 * kElements;
  config.jobs = {job};
  return config;
}

class Reassembling : public testing::Test {
 protected:
  void start(config::SwitchConfig config) {
    sw.reset();
    sw = std::make_unique<RingSwitch>(std::move(config));
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      ranks.emplace_back(sw->config(), kJob, rank, std::uint16_t{2});
  }
  void settle() {
    for (int i = 0; i < 4; ++i) sw->turn();
  }
  void join() {
    for (std::uint32_t rank = 0; rank < 2; ++rank) sw->inject(rank, ranks[rank].join(100 + rank));
    settle();
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      for (const Bytes& frame : sw->sent(rank))
        if (const auto packet = read_packet(frame)) {
          ranks[rank].epoch = packet->packet.header.epoch;
          start_flags = packet->packet.header.flags;
        }
    ASSERT_NE(ranks[0].epoch, 0);
  }
  [[nodiscard]] Bytes contribution(std::uint32_t rank, std::uint32_t seq) const {
    std::vector<std::int32_t> values(kElements);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<std::int32_t>((rank + 1) * (i + seq));
    return ranks[rank].contribution(seq, values);
  }
  // The right sum of that chunk, whole.
  static bool is_sum(const Bytes& frame, std::uint32_t seq) {
    const auto packet = read_packet(frame);
    if (!packet || packet->packet.header.type != wire::PacketType::result) return false;
    std::vector<std::int32_t> values(kElements);
    if (packet->packet.payload.size() != 4 * kElements) return false;
    std::memcpy(values.data(), packet->packet.payload.data(), 4 * kElements);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] != static_cast<std::int32_t>(3 * (i + seq))) return false;
    return true;
  }
  // What fragments make, by code of the test's own.
  static Bytes put_together(const std::vector<Bytes>& pieces) {
    Bytes whole(pieces.at(0).begin(), pieces.at(0).begin() + 34);
    std::uint16_t id = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(pieces[i]));
      wire::Fragment4View f;
      EXPECT_EQ(wire::parse_fragment4(view.payload, f), DropReason::none);
      EXPECT_EQ(f.offset, whole.size() - 34);
      EXPECT_EQ(f.more, i + 1 != pieces.size());
      if (i == 0) id = f.id;
      EXPECT_EQ(f.id, id);
      whole.insert(whole.end(), f.payload.begin(), f.payload.end());
    }
    wire::join_fragments4(std::span(whole).subspan(14), false);
    return whole;
  }
  std::uint64_t reassembled(std::size_t port) {
    return sw->packet_loops().port_counters(port).reassembled.get();
  }

  std::unique_ptr<RingSwitch> sw;
  std::vector<TestWorker> ranks;
  std::uint32_t start_flags = 0;
};

// C1: large messages are cut into packets, completed once, and put together again.
TEST_F(Reassembling, C1ChunksLongerThanTheMtuAreSummed) {
  start(fragment_config(2));
  join();
  EXPECT_NE(start_flags & wire::kFlagFragments, 0u);
  for (std::uint32_t seq = 0; seq < 40; ++seq) {
    auto first = cut(contribution(0, seq), static_cast<std::uint16_t>(seq));
    const auto second = cut(contribution(1, seq), static_cast<std::uint16_t>(seq));
    ASSERT_EQ(first.size(), 3u);
    std::rotate(first.begin(), first.begin() + seq % 3, first.end());
    for (const Bytes& piece : first) sw->inject(0, piece);
    for (const Bytes& piece : second) sw->inject(1, piece);
    sw->turn();
    for (const std::size_t port : {0u, 1u}) {
      const auto sent = sw->sent(port);
      ASSERT_EQ(sent.size(), 3u);
      for (const Bytes& piece : sent) EXPECT_LE(piece.size(), 1514u);
      EXPECT_TRUE(is_sum(put_together(sent), seq));
    }
  }
  EXPECT_EQ(reassembled(0), 40u);
  EXPECT_EQ(reassembled(1), 40u);
  EXPECT_EQ(sw->packet_loops().port_counters(0).fragmented.get(), 40u);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
}

TEST_F(Reassembling, PortsOfOneMtuShareFragmentsAndLargeOnesTheFrame) {
  auto config = fragment_config(4);
  config.ports[1].mtu = 9000;
  config.jobs[0].workers = 4;
  start(config);
  for (std::uint32_t rank = 2; rank < 4; ++rank)
    ranks.emplace_back(sw->config(), kJob, rank, std::uint16_t{4});
  ranks[0] = TestWorker(sw->config(), kJob, 0, 4);
  ranks[1] = TestWorker(sw->config(), kJob, 1, 4);
  for (std::uint32_t rank = 0; rank < 4; ++rank) sw->inject(rank, ranks[rank].join(rank + 1));
  settle();
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    ranks[rank].epoch = read_packet(sw->sent(rank).back())->packet.header.epoch;
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    for (const Bytes& piece : cut(contribution(rank, 0), 1)) sw->inject(rank, piece);
  sw->turn();
  const auto whole = sw->sent_buffers(1);
  ASSERT_EQ(whole.size(), 1u);
  const auto pieces = sw->sent_buffers(0);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_EQ(sw->sent_buffers(2), pieces);
  EXPECT_EQ(sw->sent_buffers(3), pieces);
  EXPECT_EQ(sw->buffers_in_use(), 4u);
  for (rte_mbuf* piece : pieces) {
    EXPECT_EQ(rte_mbuf_refcnt_read(piece), 3);
    for (int i = 0; i < 3; ++i) rte_pktmbuf_free(piece);
  }
  rte_pktmbuf_free(whole[0]);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
}

// As a kernel does before it hands frames to af_packet.
TEST_F(Reassembling, WhatSomebodyElseHasPutTogetherMayExceedTheMtu) {
  start(fragment_config(2));
  join();
  for (const std::uint32_t rank : {0u, 1u}) sw->inject(rank, contribution(rank, 0));
  sw->turn();
  EXPECT_TRUE(is_sum(put_together(sw->sent(0)), 0));
  sw->inject(0, ipv4_frame({.payload = 3000}, host(9)));
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::mtu), 1u) << "others may not";
}

TEST_F(Reassembling, OffFragmentsAreDroppedAsEver) {
  auto config = fragment_config(2, 0);
  config.ports[0].mtu = config.ports[1].mtu = 9000;
  start(config);
  join();
  EXPECT_EQ(start_flags & wire::kFlagFragments, 0u);
  for (const Bytes& piece : cut(contribution(0, 0), 1)) sw->inject(0, piece);
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::frame_fragment), 3u);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
}

TEST_F(Reassembling, LostFragmentsCostTheirDatagramAloneAndItsBufferForATime) {
  start(fragment_config(2));
  join();
  auto pieces = cut(contribution(0, 0), 1);
  sw->inject(0, pieces[0]);
  sw->inject(0, pieces[2]);
  sw->turn();
  EXPECT_EQ(sw->buffers_in_use(), 1u) << "one, however many fragments";
  sw->now = sw->now + Duration::ms(100);
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::fragment_timeout), 2u);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
  for (const std::uint32_t rank : {0u, 1u})
    for (const Bytes& piece : cut(contribution(rank, 0), 2)) sw->inject(rank, piece);
  sw->turn();
  EXPECT_TRUE(is_sum(put_together(sw->sent(0)), 0));
}

TEST_F(Reassembling, EveryFragmentThatIsRefusedIsCounted) {
  start(fragment_config(2));
  join();
  const auto pieces = cut(contribution(0, 0), 1);
  sw->inject(0, pieces[0]);
  sw->inject(0, pieces[0]);
  sw->inject(0, cut(contribution(0, 0), 1, 1400)[1]);
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::fragment_duplicate), 1u);
  EXPECT_EQ(sw->drops(0, DropReason::fragment_overlap), 2u);
  IpOptions odd{.fragment = 0x2000, .destination = sw->config().ipv4, .payload = 17};
  const auto to = config::derived_mac(sw->config().ipv4);
  sw->inject(0, ipv4_frame(odd, to));
  odd.fragment = 0x1FFF;
  sw->inject(0, ipv4_frame(odd, to));
  odd.destination = 0x0A000002;
  sw->inject(0, ipv4_frame(odd, to));
  sw->turn();
  EXPECT_EQ(sw->drops(0, DropReason::fragment_malformed), 1u);
  EXPECT_EQ(sw->drops(0, DropReason::fragment_too_large), 1u);
  EXPECT_EQ(sw->drops(0, DropReason::frame_fragment), 1u) << "of another address";
  EXPECT_EQ(sw->buffers_in_use(), 0u);
}

TEST_F(Reassembling, AFloodOfFirstFragmentsHurtsNobodyElse) {
  start(fragment_config(3, 4));
  join();
  IpOptions flood{.fragment = 0x2000, .destination = sw->config().ipv4, .payload = 800};
  const auto to = config::derived_mac(sw->config().ipv4);
  const auto invent = [&](std::size_t port, std::uint32_t source) {
    flood.source = source;
    sw->inject(port, ipv4_frame(flood, to));
  };
  for (std::uint32_t seq = 0; seq < 20; ++seq) {
    // From another port, and from the rank's own.
    for (std::uint32_t i = 0; i < 20; ++i) invent(2, 0x0B000000 + seq * 100 + i);
    for (std::uint32_t i = 0; i < 5; ++i) invent(0, 0x0C000000 + seq * 100 + i);
    for (const std::uint32_t rank : {0u, 1u})
      for (const Bytes& piece : cut(contribution(rank, seq), static_cast<std::uint16_t>(seq)))
        sw->inject(rank, piece);
    sw->turn();
    ASSERT_TRUE(is_sum(put_together(sw->sent(0)), seq));
    EXPECT_LE(sw->buffers_in_use(), 8u + 3u);
    sw->sent(1);
  }
  EXPECT_EQ(sw->drops(2, DropReason::fragment_evicted), 20u * 20 - 4);
  EXPECT_EQ(sw->drops(1, DropReason::fragment_evicted), 0u);
}

TEST_F(Reassembling, OthersFragmentsArePassedOnAsTheyAre) {
  start(fragment_config(2));
  const auto pieces = cut(ipv4_frame({.destination = 0x0A000009, .payload = 3000}, host(9)), 1);
  for (const Bytes& piece : pieces) sw->inject(0, piece);
  sw->turn();
  EXPECT_EQ(sw->sent(1), pieces);
  EXPECT_EQ(reassembled(0), 0u);
}

TEST_F(Reassembling, AFrameOfOthersIsNotCut) {
  auto config = fragment_config(2);
  config.ports[0].mtu = 9000;
  start(config);
  sw->inject(0, ipv4_frame({.payload = 3000}, host(9)));
  sw->turn();
  EXPECT_EQ(sw->drops(1, DropReason::mtu), 1u);
}

TEST_F(Reassembling, ALongPingIsAnsweredInFragments) {
  start(fragment_config(1));
  Bytes ping = ipv4_frame(
      {.protocol = 1, .source = 0x0A4D0001, .destination = sw->config().ipv4, .payload = 3000},
      config::derived_mac(sw->config().ipv4), host(1));
  std::fill(ping.begin() + 34, ping.end(), std::byte{0});
  ping[34] = std::byte{8};
  ping[36] = std::byte{0xF7};
  ping[37] = std::byte{0xFF};
  for (const Bytes& piece : cut(ping, 77)) sw->inject(0, piece);
  sw->turn();
  const Bytes answer = put_together(sw->sent(0));
  ASSERT_EQ(answer.size(), ping.size());
  EXPECT_EQ(answer[34], std::byte{0});
  EXPECT_EQ(answer[33], std::byte{1}) << "to whom it came from";
}

// Whole, but for a job or port that the switch does not have: told as any such packet.
TEST_F(Reassembling, WhatIsOfNoUseWhenItIsWholeIsDropped) {
  start(fragment_config(1));
  const Bytes frame = ipv4_frame({.destination = sw->config().ipv4, .payload = 3000},
                                 config::derived_mac(sw->config().ipv4));
  for (const Bytes& piece : cut(frame, 1)) sw->inject(0, piece);
  sw->turn();
  EXPECT_EQ(reassembled(0), 1u);
  EXPECT_EQ(sw->drops(0, DropReason::frame_bad_udp), 1u);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
}

// A device may spread the fragments of one datagram over queues of several lcores.
TEST_F(Reassembling, FragmentsOfSeveralQueuesMeetAtOneLcore) {
  auto config = fragment_config(2);
  config.lcores = {-1, -1};
  config.ports[0].queues = config.ports[1].queues = 2;
  config.ports[0].lcores = config.ports[1].lcores = {0, 1};
  start(config);
  join();
  for (std::uint32_t seq = 0; seq < 16; ++seq) {
    for (const std::uint32_t rank : {0u, 1u}) {
      const auto pieces = cut(contribution(rank, seq), static_cast<std::uint16_t>(seq));
      for (std::size_t i = 0; i < pieces.size(); ++i) sw->inject_at(rank, (i + seq) % 2, pieces[i]);
    }
    settle();
    for (const std::size_t port : {0u, 1u}) {
      const auto sent = sw->sent(port);
      ASSERT_EQ(sent.size(), 3u) << seq;
      EXPECT_TRUE(is_sum(put_together(sent), seq));
    }
  }
  for (const std::size_t lcore : {0u, 1u})
    EXPECT_GT(sw->packet_loop(lcore).port_counters(0).reassembled.get(), 0u)
        << "both share the work";
  EXPECT_EQ(reassembled(0), 16u);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
}

TEST_F(Reassembling, ADeviceThatIsExchangedTakesItsFragmentsWithIt) {
  start(fragment_config(2));
  sw->inject(0, cut(contribution(0, 0), 1)[0]);
  sw->turn();
  EXPECT_EQ(sw->buffers_in_use(), 1u);
  const auto change = sw->packet_loop().prepare(sw->config());
  change->ports.emplace_back(std::uint16_t{0}, &sw->port(0));
  sw->packet_loop().apply(*change, sw->now);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
  EXPECT_EQ(sw->drops(0, DropReason::fragment_timeout), 1u);
}

}  // namespace
}  // namespace tributary::dataplane
