// T19, A5: ranks by RDMA through a switch whose loop is turned by hand.
#include "dataplane/rdma/front_end.h"

#include <gtest/gtest.h>

#include "core/wire/ecn.h"
#include "tests/dataplane/rdma/rdma_rank.h"

namespace tributary::dataplane {
namespace {

// Rank 0 by RDMA behind port 0, rank 1 by UDP behind port 1.
class RdmaFrontEndTest : public testing::Test {
 protected:
  void start(const config::SwitchConfig& config) {
    sw = std::make_unique<RingSwitch>(config);
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      ranks.emplace_back(config, kJob, rank, std::uint16_t{2});
    for (TestWorker& rank : ranks)
      rank.use_crc32c = config.jobs[0].integrity == wire::Integrity::crc32c;
    rdma.emplace(ranks[0], kJob);
  }
  void settle() {
    for (int i = 0; i < 3; ++i) sw->turn();
  }
  // The last frame that rank 0 got.
  std::optional<RdmaReceived> last_send() {
    for (const Bytes& frame : sw->sent(0)) last_frame_ = frame;
    return read_send(last_frame_);
  }
  void join() {
    sw->inject(0, rdma->by_rdma(ranks[0].join(100)));
    sw->inject(1, ranks[1].join(101));
    settle();
    const auto start = last_send();
    ASSERT_TRUE(start);
    ASSERT_EQ(start->packet.header.type, wire::PacketType::start);
    ranks[0].epoch = ranks[1].epoch = start->packet.header.epoch;
    sw->sent(1);
  }
  Bytes contribution(std::uint32_t seq = 0) {
    return rdma->by_rdma(ranks[0].contribution(seq, std::array{1, -2, 3}));
  }
  void expect_dropped(const Bytes& frame, DropReason reason, std::size_t port = 0) {
    const auto before = sw->drops(port, reason);
    sw->inject(port, frame);
    settle();
    EXPECT_EQ(sw->drops(port, reason), before + 1) << drop_label(reason);
    EXPECT_TRUE(sw->sent(0).empty());
  }

  std::unique_ptr<RingSwitch> sw;
  std::vector<TestWorker> ranks;
  std::optional<RdmaRank> rdma;

 private:
  Bytes last_frame_;
};

TEST_F(RdmaFrontEndTest, T19_ARankByRdmaAndOneByUdpSumTogether) {
  start(rdma_config());
  join();
  for (std::uint32_t seq = 0; seq < 20; ++seq) {
    sw->inject(0, contribution(seq));
    sw->inject(1, ranks[1].contribution(seq, std::array{10, 20, 30}));
    settle();
    const auto to_rdma = sw->sent(0);
    ASSERT_EQ(to_rdma.size(), 1u) << "and no copy of the group's";
    const auto result = read_send(to_rdma[0]);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->roce.bth.qpn, RdmaRank::kQpn);
    EXPECT_EQ(result->roce.deth, (wire::Deth{wire::kRdmaCmQkey, wire::job_qpn(kJob)}));
    EXPECT_EQ(result->ethernet.destination, ranks[0].mac());
    EXPECT_EQ(result->endpoints.destination_ip, ranks[0].ipv4());
    const std::array expected = {11, 18, 33};
    ASSERT_EQ(result->packet.payload.size(), sizeof expected);
    EXPECT_EQ(std::memcmp(result->packet.payload.data(), expected.data(), sizeof expected), 0);
    const auto to_udp = sw->sent(1);
    ASSERT_EQ(to_udp.size(), 1u);
    EXPECT_EQ(read_packet(to_udp[0])->packet.header.type, wire::PacketType::result);
  }
  const QueuePair& pair = sw->packet_loop().queue_pairs().all()[0];
  EXPECT_EQ(pair.counters.received.get(), 21u);
  EXPECT_EQ(pair.counters.sent.get(), 22u) << "PENDING, START, and each result";
  EXPECT_EQ(sw->packet_loop().port_counters(0).drops.total(), 0u);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
}

TEST_F(RdmaFrontEndTest, T19_TaggedAndWithCrc32c) {
  auto config = rdma_config();
  for (auto& job : config.jobs) job.integrity = wire::Integrity::crc32c;
  start(config);
  rdma->send.vlan_tci = 0x2005;
  join();
  sw->inject(0, contribution());
  sw->inject(1, ranks[1].contribution(0, std::array{10, 20, 30}));
  settle();
  const auto result = last_send();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->ethernet.vlan_tci, 0x2005);
  EXPECT_EQ(result->packet.header.type, wire::PacketType::result);
  EXPECT_TRUE(wire::find_extension(result->packet.extensions, wire::ExtensionType::crc32c));
}

// Memory in front of the network card may fail as well.
TEST_F(RdmaFrontEndTest, Rule18_ACrc32cUnderAGoodIcrcIsChecked) {
  auto config = rdma_config();
  for (auto& job : config.jobs) job.integrity = wire::Integrity::crc32c;
  start(config);
  join();
  Bytes packet = [&] {
    const Bytes frame = ranks[0].contribution(0, std::array{1, -2, 3});
    const auto payload = read_packet(frame)->udp.payload;
    return RdmaRank::with_lead(payload);
  }();
  packet.back() ^= std::byte{1};
  expect_dropped(rdma->carry(packet), DropReason::crc32c);
}

TEST_F(RdmaFrontEndTest, A5_WhatTheQueuePairDoesNotTakeIsCountedByReason) {
  start(rdma_config());
  join();
  const RdmaRank good = *rdma;
  rdma->send.qkey ^= 1;
  expect_dropped(contribution(), DropReason::rdma_qkey);
  *rdma = good;
  rdma->send.qpn ^= 0x100;
  expect_dropped(contribution(), DropReason::rdma_qp);
  *rdma = good;
  rdma->send.qpn = wire::job_qpn(kOther);
  expect_dropped(contribution(), DropReason::rdma_job);
  *rdma = good;
  expect_dropped(contribution(), DropReason::rdma_port, 1);
  EXPECT_EQ(sw->packet_loop().engine().counters(0).completions.get(), 0u);
}

// Each byte of a contribution damaged in turn, and each length: dropped, and nothing is counted in.
TEST_F(RdmaFrontEndTest, A5_DamagedAndCutPacketsAreDropped) {
  start(rdma_config());
  join();
  const Bytes good = contribution();
  for (std::size_t at = wire::kUdpPayloadOffset; at < good.size(); ++at) {
    if (at == wire::kUdpPayloadOffset + 4) continue;  // what routers mark is not covered
    Bytes bad = good;
    bad[at] ^= std::byte{0x10};
    sw->inject(0, bad);
    settle();
  }
  EXPECT_GT(sw->drops(0, DropReason::icrc), 0u);
  EXPECT_GT(sw->drops(0, DropReason::rdma_pkey), 0u);
  EXPECT_GT(sw->drops(0, DropReason::rdma_opcode) + sw->drops(0, DropReason::roce_malformed), 0u);
  EXPECT_EQ(sw->packet_loop().engine().counters(0).contributions.get(), 0u);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
  // It goes on all the same.
  sw->inject(0, good);
  sw->inject(1, ranks[1].contribution(0, std::array{10, 20, 30}));
  settle();
  EXPECT_EQ(sw->packet_loop().engine().counters(0).completions.get(), 1u);
}

// Every opcode to the job's queue pair, with room for any header.
TEST_F(RdmaFrontEndTest, A5_OtherOperationsAreRefused) {
  start(rdma_config());
  join();
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    if (opcode == wire::kUdSend) continue;
    Bytes frame = contribution();
    frame[wire::kUdpPayloadOffset] = static_cast<std::byte>(opcode);
    wire::seal_icrc(std::span(frame).subspan(wire::kEthernetBytes));
    sw->inject(0, frame);
    settle();
  }
  EXPECT_EQ(sw->packet_loop().port_counters(0).drops.total(), 255u);
  EXPECT_EQ(sw->packet_loop().engine().counters(0).contributions.get(), 0u);
}

TEST_F(RdmaFrontEndTest, RdmaBetweenHostsIsSwitched) {
  start(rdma_config());
  rdma->send.destination = {2, 0, 0, 0, 1, 9};
  rdma->send.destination_ip = 0x0A4D0009;
  const Bytes frame = contribution();
  sw->inject(0, frame);
  settle();
  EXPECT_EQ(sw->sent(2), (std::vector<Bytes>{frame}));
}

TEST_F(RdmaFrontEndTest, OffUnlessAJobTakesIt) {
  auto config = rdma_config();
  for (auto& job : config.jobs) job.rdma = false;
  start(config);
  expect_dropped(contribution(), DropReason::unhandled);
}

TEST_F(RdmaFrontEndTest, Rule15_MarksOfTheNetworkAreHeard) {
  start(rdma_config());
  join();
  Bytes frame = contribution();
  frame[wire::kUdpPayloadOffset + 4] |= std::byte{0x80};  // FECN, which no ICRC covers
  const auto what = classify(identity_of(sw->config()), frame, true);
  Event event;
  const RdmaFrontEnd front(sw->config(), sw->config(), 0, 1);
  ASSERT_EQ(front.read(0, what, event), DropReason::none);
  EXPECT_EQ(RdmaFrontEnd::check(what, event), DropReason::none);
  EXPECT_TRUE(event.packet.congestion_experienced);
  EXPECT_EQ(event.from.front_end(), FrontEndId::rdma);
  EXPECT_EQ(event.from.flow(), RdmaRank::kQpn);
}

// Another queue pair of the same host is another process (rule 18).
TEST_F(RdmaFrontEndTest, Rule18_AChildIsBoundToItsQueuePair) {
  start(rdma_config());
  join();
  rdma->send.source_qpn = RdmaRank::kQpn + 1;
  sw->inject(0, contribution());
  settle();
  EXPECT_EQ(sw->drops(0, DropReason::sender_mismatch), 1u);
}

TEST_F(RdmaFrontEndTest, AnyLcoreHandsThePacketToItsJobs) {
  auto config = rdma_config();
  config.lcores = {-1, -1};
  config.jobs.resize(1);  // job 5 is lcore 1's, port 0 lcore 0's
  start(config);
  join();
  sw->inject(0, contribution());
  sw->inject(1, ranks[1].contribution(0, std::array{10, 20, 30}));
  settle();
  const auto result = last_send();
  ASSERT_TRUE(result);
  EXPECT_EQ(result->packet.header.type, wire::PacketType::result);
}

TEST_F(RdmaFrontEndTest, AReloadClosesAPortAndKeepsCounters) {
  auto config = rdma_config();
  start(config);
  join();
  config.ports[0].rdma = false;
  sw->reload(config);
  EXPECT_EQ(sw->packet_loop().queue_pairs().all()[0].counters.received.get(), 1u);
  expect_dropped(contribution(), DropReason::rdma_port);
}

class SidrTest : public RdmaFrontEndTest {
 protected:
  Bytes request(std::uint32_t job, std::uint32_t rank, std::uint16_t port = 47000) {
    Bytes mad(wire::kMadBytes);
    const auto put = [&](std::size_t at, std::initializer_list<int> values) {
      for (const int value : values) mad[at++] = static_cast<std::byte>(value);
    };
    put(0, {1, 7, 2, 3});
    put(15, {9, 0, 0x17});  // transaction 9, SIDR_REQ
    put(27, {4});           // request id
    put(36, {1, 0x11, port >> 8, port & 0xFF});
    put(41, {0x40});
    const auto place = wire::write_rank_request({job, rank});
    std::copy(place.begin(), place.end(), mad.begin() + 76);
    return mad;
  }
  Bytes ask(const Bytes& mad) {
    rdma->send.source_qpn = rdma->send.qpn = wire::kGeneralServicesQp;
    rdma->send.qkey = wire::kGeneralServicesQkey;
    return rdma->carry(mad);
  }
  // The status in the reply, and the queue pair.
  std::pair<int, std::uint32_t> answer(const Bytes& mad) {
    sw->inject(0, ask(mad));
    settle();
    const auto sent = sw->sent(0);
    if (sent.size() != 1) return {-1, 0};
    const auto reply = read_send(sent[0]);
    if (!reply || reply->roce.deth.qkey != wire::kGeneralServicesQkey) return {-2, 0};
    const auto p = reply->roce.payload;
    if (p.size() != wire::kMadBytes || p[15] != std::byte{9} || p[17] != std::byte{0x18} ||
        p[27] != std::byte{4})
      return {-3, 0};
    const auto at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(p[i]); };
    return {std::to_integer<int>(p[28]), at(32) << 16 | at(33) << 8 | at(34)};
  }
};

TEST_F(SidrTest, T19_RdmaCmLearnsTheQueuePairOfAJob) {
  start(rdma_config());
  EXPECT_EQ(answer(request(kJob, 1)), std::pair(0, wire::job_qpn(kJob)));
  EXPECT_EQ(answer(request(kOther, 0)), std::pair(0, wire::job_qpn(kOther)));
}

TEST_F(SidrTest, SaysWhyThereIsNone) {
  auto config = rdma_config();
  config.jobs[1].rdma = false;
  start(config);
  EXPECT_EQ(answer(request(kJob, 0, 47001)).first, 1) << "another service";
  EXPECT_EQ(answer(request(kJob, 2)).first, 2) << "a rank that the job does not have";
  Bytes stranger = request(kJob, 0);
  stranger[76] = std::byte{0};
  EXPECT_EQ(answer(stranger).first, 2) << "another program's private data";
  EXPECT_EQ(answer(request(kOther, 0)).first, 3) << "a job without RDMA";
  EXPECT_EQ(answer(request(99, 0)).first, 3) << "no such job";
}

TEST_F(SidrTest, BadRequestsAreDroppedAndCounted) {
  start(rdma_config());
  Bytes mad = request(kJob, 0);
  mad[1] = std::byte{6};
  expect_dropped(ask(mad), DropReason::cm_malformed);
  mad = request(kJob, 0);
  mad[17] = std::byte{0x10};
  expect_dropped(ask(mad), DropReason::cm_malformed);  // REQ without librdmacm's header
  mad[17] = std::byte{0x19};
  expect_dropped(ask(mad), DropReason::unhandled);
  Bytes frame = ask(request(kJob, 0));
  frame[frame.size() - 1] ^= std::byte{1};
  expect_dropped(frame, DropReason::icrc);
  ask(mad);
  rdma->send.qkey = wire::kRdmaCmQkey;
  expect_dropped(rdma->carry(mad), DropReason::rdma_qkey);
  expect_dropped(ask(mad), DropReason::rdma_port, 1);
  EXPECT_EQ(sw->buffers_in_use(), 0u);
}

}  // namespace
}  // namespace tributary::dataplane
