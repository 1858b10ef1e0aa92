// A job cut into planes on two switches, one above the other (A2, O12): each has an engine for each
// plane, as it has loops, and nothing but packets passes between any two of them.
#include <gmock/gmock.h>

#include <array>
#include <deque>

#include "core/net/udp_peer.h"
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using wire::PacketType;

constexpr std::uint32_t kWholeJob = 7;
constexpr std::array<std::uint32_t, 3> kRanks = {0, 1, 2};  // 0 and 2 below the leaf

// The leaf has ranks 0 and 2 as children 0 and 1; the root the leaf and rank 1.
class TreeOfPlanes : public testing::Test {
 protected:
  struct Loop {
    Loop(const config::SwitchConfig& config, std::uint16_t epoch)
        : engine(config, dataplane::kUdpAddresses, {.epoch = epoch, .nonce_seed = epoch}),
          outbox(engine.outbox_capacity()) {}
    StillEngine engine;
    Outbox outbox;
  };
  using Loops = std::deque<Loop>;

  void SetUp() override { build(2, 2); }
  void build(std::uint8_t planes_below, std::uint8_t planes_above) {
    leaf_.clear();
    root_.clear();
    for (std::uint8_t plane = 0; plane < planes_below; ++plane)
      leaf_.emplace_back(leaf_config(planes_below, plane), static_cast<std::uint16_t>(300 + plane));
    for (std::uint8_t plane = 0; plane < planes_above; ++plane)
      root_.emplace_back(root_config(planes_above, plane),
                         static_cast<std::uint16_t>(41 + 50 * plane));
  }
  static config::SwitchConfig leaf_config(std::uint8_t planes, std::uint8_t plane) {
    config::JobConfig job = planed(planes, plane);
    job.children = {{false, 0, 0, "p0", {0}}, {false, 2, 0, "p1", {2}}};
    job.parent = config::ParentConfig{"root", kParentId, kParentIpv4, {2, 9}, "p3", 0, 2};
    job.release = config::Release::returned;
    config::SwitchConfig config = test_switch({job});
    config.id = kLeafId;
    config.ipv4 = kLeafIpv4;
    return config;
  }
  static config::SwitchConfig root_config(std::uint8_t planes, std::uint8_t plane) {
    config::JobConfig job = planed(planes, plane);
    job.children = {{true, kLeafId, kLeafIpv4, "p0", {0, 2}}, {false, 1, 0, "p1", {1}}};
    config::SwitchConfig config = test_switch({job});
    config.id = kParentId;
    config.ipv4 = kParentIpv4;
    return config;
  }
  static config::JobConfig planed(std::uint8_t planes, std::uint8_t plane) {
    config::JobConfig job = test_job(3);
    job.planes = planes;
    job.plane = plane;
    return job;
  }

  // What a rank sends, and all that follows on both switches. What ranks got is in heard_.
  void send(std::uint32_t rank, const wire::Header& h, std::span<const std::byte> extensions = {},
            std::span<const std::byte> payload = {}) {
    heard_.clear();
    Loops& at = rank == 1 ? root_ : leaf_;
    wire::UdpPeer from{static_cast<std::uint16_t>(rank == 0 ? 0 : 1),
                       5000,
                       0x0A4D0000u + rank,
                       std::nullopt,
                       {2, 0, 0, 0, 0, static_cast<std::uint8_t>(rank)}};
    deliver(at, {h, extensions, payload}, from);
  }
  void deliver(Loops& at, const wire::Packet& packet, const Endpoint& from) {
    ASSERT_LT(packet.header.plane, at.size());
    Loop& loop = at[packet.header.plane];
    last_ = loop.engine.on_packet(packet, from, now_, loop.outbox);
    carry(at, loop);
  }
  void expire(Duration after) {
    heard_.clear();
    now_ = now_ + after;
    for (Loops* const loops : {&leaf_, &root_})
      for (Loop& loop : *loops) {
        loop.engine.expire(now_, loop.outbox);
        carry(*loops, loop);
      }
  }
  // The cable: between two switches a packet has its plane's UDP port.
  void carry(Loops& from, Loop& loop) {
    std::vector<Sent> sent;
    for (const Outgoing& o : loop.outbox.items()) {
      const auto ext = o.extension_span();
      sent.push_back(
          {o.to, o.peer, o.header, {ext.begin(), ext.end()}, {o.payload.begin(), o.payload.end()}});
    }
    loop.outbox.clear();
    const auto plane = static_cast<std::uint16_t>(loop.engine.job_config(0).plane);
    for (const Sent& s : sent) {
      if (s.header.type != PacketType::nack) {
        EXPECT_EQ(s.header.plane, plane) << wire::name_of(s.header.type);
      }
      const wire::Packet packet{s.header, s.extensions, s.payload};
      const auto udp_port = static_cast<std::uint16_t>(47000 + plane);
      const bool below = &from == &leaf_;
      const bool to_leaf = !below && (s.to == Outgoing::To::job_group || s.peer.port() == 0);
      if (below && s.to == Outgoing::To::parent) {
        if (lose_ == s.header.type) continue;
        deliver(root_, packet, wire::UdpPeer(0, udp_port, kLeafIpv4, {}, {2, 1}));
      } else if (to_leaf) {
        deliver(leaf_, packet, wire::UdpPeer(3, udp_port, kParentIpv4, {}, {2, 9}));
      }
      if (!to_leaf || s.to == Outgoing::To::job_group)
        if (s.to == Outgoing::To::peer || s.to == Outgoing::To::job_group) heard_.push_back(s);
    }
  }

  wire::Header header(PacketType type, std::uint32_t rank, std::uint8_t plane) const {
    wire::Header h;
    h.type = type;
    h.job = kWholeJob;
    h.plane = plane;
    h.origin = rank;
    if (type == PacketType::join) {
      h.child = static_cast<std::uint16_t>(rank);
      h.fan_in = 3;
      return h;
    }
    h.epoch = epoch_[plane];
    h.child = rank == 0 ? 0 : 1;
    h.fan_in = 2;
    return h;
  }
  void join(std::uint32_t rank, std::uint8_t plane, int incarnation = 0) {
    std::array<std::byte, 16> room;
    wire::ExtensionWriter ext(room);
    ext.add_nonce(100 + rank + 1000u * static_cast<std::uint64_t>(incarnation));
    send(rank, header(PacketType::join, rank, plane), ext.bytes());
  }
  void start(std::uint8_t plane, int incarnation = 0) {
    now_ = now_ + Duration::ms(100);  // or the leaf would not repeat its own JOIN
    for (const std::uint32_t rank : kRanks) join(rank, plane, incarnation);
    epoch_[plane] = root_[plane].engine.running_epoch(kWholeJob).value_or(0);
    ASSERT_NE(epoch_[plane], 0);
    ASSERT_EQ(leaf_[plane].engine.running_epoch(kWholeJob), epoch_[plane]);
  }
  void contribute(std::uint32_t rank, std::uint8_t plane, std::uint32_t seq, std::int32_t value) {
    wire::Header h = header(PacketType::contribution, rank, plane);
    h.op = h.seq = seq;
    h.covered = 1;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    h.flags = wire::kFlagLast;
    send(rank, h, {}, std::as_bytes(std::span(&value, 1)));
  }
  // All ranks; the results that their two switches multicast.
  std::vector<std::int32_t> sum(std::uint8_t plane, std::uint32_t seq, std::int32_t value) {
    for (const std::uint32_t rank : {0u, 2u, 1u}) contribute(rank, plane, seq, value);
    std::vector<std::int32_t> results;
    for (const Sent& s : heard_)
      if (s.header.type == PacketType::result && s.header.plane == plane)
        results.push_back(s.elements<std::int32_t>().at(0));
    return results;
  }
  static JobStatus status(Loop& loop, Instant now) { return loop.engine.job_status(now)[0]; }

  Loops leaf_;
  Loops root_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::array<std::uint16_t, 2> epoch_{};
  PacketType lose_ = PacketType::start;  // goes down, so nothing is lost on the way up
  Decision last_;
  std::vector<Sent> heard_;
};

TEST_F(TreeOfPlanes, A2_EachPlaneGoesUpByItself) {
  start(0);
  EXPECT_EQ(leaf_[1].engine.running_epoch(kWholeJob), std::nullopt) << "nobody has joined it";
  EXPECT_THAT(sum(0, 0, 5), ElementsAre(15, 15));
  start(1);
  EXPECT_NE(epoch_[0], epoch_[1]);
  for (std::uint32_t seq = 0; seq < 6; ++seq) {
    EXPECT_THAT(sum(1, seq, 7), ElementsAre(21, 21));
    EXPECT_THAT(sum(0, seq + 1, 1), ElementsAre(3, 3));
  }
  for (std::uint8_t plane = 0; plane < 2; ++plane) {
    const JobStatus s = status(leaf_[plane], now_);
    EXPECT_EQ(s.plane, plane);
    EXPECT_EQ(s.upstream->state, "running");
    EXPECT_EQ(status(root_[plane], now_).members[0].peer.flow(), 47000 + plane);
  }
}

TEST_F(TreeOfPlanes, A2_StartSaysTheNumberOfPlanesToTheRanksBelow) {
  start(0);
  join(0, 0);
  ASSERT_THAT(heard_, SizeIs(1));
  EXPECT_EQ(wire::find_start_info(heard_[0].extensions)->planes, 2u);
}

TEST_F(TreeOfPlanes, Rule6_ASumThatIsLostOnItsWayUpIsSentAgainInItsPlane) {
  start(0);
  start(1);
  lose_ = PacketType::aggregate;
  EXPECT_THAT(sum(1, 0, 2), IsEmpty());
  lose_ = PacketType::start;
  EXPECT_THAT(sum(0, 0, 1), ElementsAre(3, 3));
  wire::Header probe = header(PacketType::probe, 0, 1);
  now_ = now_ + Duration::ms(5);
  send(0, probe);
  ASSERT_THAT(heard_, SizeIs(2)) << "of the leaf and of the root";
  EXPECT_THAT(heard_[0].elements<std::int32_t>(), ElementsAre(6));
}

TEST_F(TreeOfPlanes, Rule1_AnEpochThatEndsInOnePlaneLeavesTheOther) {
  start(0);
  start(1);
  EXPECT_THAT(sum(0, 0, 1), ElementsAre(3, 3));
  join(0, 1, 1);  // it was restarted, and begins with this plane as little as the others
  std::size_t aborts = 0;
  for (const Sent& s : heard_)
    if (s.header.type == PacketType::abort) {
      ++aborts;
      EXPECT_EQ(s.header.plane, 1);
      EXPECT_EQ(s.header.reason, wire::Reason::rank_restarted);
      EXPECT_THAT(s.missing(), ElementsAre(0));
    }
  EXPECT_EQ(aborts, 2u) << "to the ranks of the leaf, and to those of the root";
  EXPECT_EQ(leaf_[1].engine.running_epoch(kWholeJob), std::nullopt);
  EXPECT_EQ(root_[1].engine.running_epoch(kWholeJob), std::nullopt);
  EXPECT_THAT(sum(0, 1, 4), ElementsAre(12, 12)) << "its epoch goes on";
  expire(Duration::ms(30));  // the leaf's last word about the old epoch
  expire(Duration::ms(30));
  expire(Duration::ms(30));
  start(1, 1);
  EXPECT_THAT(sum(1, 0, 3), ElementsAre(9, 9));
  EXPECT_THAT(sum(0, 2, 6), ElementsAre(18, 18));
}

TEST_F(TreeOfPlanes, Rule1_LeavingOnePlaneLeavesTheOther) {
  start(0);
  start(1);
  for (const std::uint32_t rank : kRanks) {
    wire::Header h = header(PacketType::leave, rank, 0);
    send(rank, h);
  }
  EXPECT_EQ(status(leaf_[0], now_).upstream->state, "down") << "the parent has acknowledged";
  for (const auto& member : status(root_[0], now_).members) EXPECT_FALSE(member.present);
  EXPECT_THAT(sum(1, 0, 2), ElementsAre(6, 6));
}

TEST_F(TreeOfPlanes, Rule1_LeasesAreOfEachPlane) {
  start(0);
  start(1);
  for (int beat = 0; beat < 8; ++beat) {  // ranks of plane 1 say that they live, those of 0 do not
    for (const std::uint32_t rank : kRanks) send(rank, header(PacketType::lease, rank, 1));
    expire(Duration::ms(150));
  }
  EXPECT_EQ(status(leaf_[0], now_).last_abort, wire::Reason::lease_expired);
  EXPECT_EQ(root_[0].engine.running_epoch(kWholeJob), std::nullopt);
  EXPECT_THAT(sum(1, 0, 2), ElementsAre(6, 6));
}

TEST_F(TreeOfPlanes, T3_ADeadlineIsOfItsPlane) {
  start(0);
  start(1);
  for (const std::uint32_t rank : {0u, 2u}) contribute(rank, 1, 0, 1);
  expire(Duration::ms(600));
  ASSERT_FALSE(heard_.empty());
  for (const Sent& s : heard_) {
    EXPECT_EQ(s.header.type, PacketType::abort);
    EXPECT_EQ(s.header.reason, wire::Reason::deadline);
    EXPECT_EQ(s.header.plane, 1);
    EXPECT_THAT(s.missing(), ElementsAre(1));
  }
  EXPECT_THAT(sum(0, 0, 2), ElementsAre(6, 6));
}

// Files of two ages: no switch waits for planes that others do not have, and both numbers are said.
TEST_F(TreeOfPlanes, A2_AnotherNumberOfPlanesAboveIsRefusedWithBothNumbers) {
  for (const auto& [below, above] : {std::pair<std::uint8_t, std::uint8_t>{1, 2}, {2, 1}}) {
    build(below, above);
    now_ = now_ + Duration::seconds(1);
    join(1, 0);
    join(0, 0);
    join(2, 0);  // the root is asked, and refuses
    ASSERT_THAT(heard_, SizeIs(1));
    EXPECT_EQ(heard_[0].header.type, PacketType::pending);
    join(0, 0);
    ASSERT_THAT(heard_, SizeIs(1));
    const wire::Header& h = heard_[0].header;
    EXPECT_EQ(h.type, PacketType::nack);
    EXPECT_EQ(h.reason, wire::Reason::planes_mismatch);
    EXPECT_EQ(h.origin, kLeafId);
    EXPECT_EQ(h.slot, kParentId);
    EXPECT_EQ(h.op + 1, below);
    EXPECT_EQ(h.chunk + 1, above);
    EXPECT_EQ(wire::find_nonce(heard_[0].extensions), 100u);
    const JoinRefusal refusal = status(leaf_[0], now_).upstream->refusal;
    EXPECT_EQ(refusal, (JoinRefusal{wire::Reason::planes_mismatch, kLeafId, kParentId, below - 1u,
                                    above - 1u}));
    EXPECT_EQ(root_[0].engine.running_epoch(kWholeJob), std::nullopt) << "no epoch of one half";
    // One of the two reads what the other has read.
    now_ = now_ + Duration::ms(100);
    build(2, 2);
    start(0);
    EXPECT_THAT(sum(0, 0, 1), ElementsAre(3, 3));
  }
}

TEST_F(TreeOfPlanes, A2_APlaneThatTheSwitchAboveLacksIsRefusedWithBothNumbers) {
  std::array<std::byte, 16> room;
  wire::ExtensionWriter ext(room);
  ext.add_nonce(9);
  wire::Header h = header(PacketType::join, kLeafId, 3);
  h.flags = wire::kFlagCompleteSubtree;
  h.child = 0;
  h.fan_in = 2;
  h.covered = 2;
  h.op = 3;               // beyond the first
  Loop& loop = root_[0];  // the loop that gets packets of unknown planes
  loop.engine.on_packet({h, ext.bytes(), {}}, wire::UdpPeer(0, 47003, kLeafIpv4, {}, {2, 1}), now_,
                        loop.outbox);
  ASSERT_THAT(loop.outbox.items(), SizeIs(1));
  const wire::Header& nack = loop.outbox.items()[0].header;
  EXPECT_EQ(nack.plane, 3) << "as it was asked";
  EXPECT_EQ(read_refusal(nack),
            (JoinRefusal{wire::Reason::planes_mismatch, kLeafId, kParentId, 3, 1}));
}

// Rule 16: one that asks anew with another number has left the running epoch behind.
TEST_F(TreeOfPlanes, Rule16_AMemberThatComesBackWithOtherPlanesEndsTheEpoch) {
  start(0);
  leaf_.clear();
  leaf_.emplace_back(leaf_config(1, 0), 500);
  now_ = now_ + Duration::ms(100);
  join(0, 0, 1);
  join(2, 0, 1);
  EXPECT_EQ(root_[0].engine.running_epoch(kWholeJob), std::nullopt);
  EXPECT_EQ(status(root_[0], now_).last_abort, wire::Reason::configuration_changed);
}

}  // namespace
}  // namespace tributary::aggregator
