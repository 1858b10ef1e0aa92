// An engine that has one plane of a job: what is another plane's is nothing to it.
#include <gtest/gtest.h>

#include "tests/aggregator/engine_fixture.h"

namespace tributary::aggregator {
namespace {

class PlaneTest : public EngineTest {
 protected:
  static constexpr std::uint8_t kPlane = 2;

  void SetUp() override {
    config::JobConfig job = test_job(2);
    job.planes = 3;
    job.plane = kPlane;
    build(test_switch({job}));
  }
  Decision join_plane(std::uint32_t rank, std::uint8_t plane) {
    std::array<std::byte, 16> buffer;
    wire::ExtensionWriter ext(buffer);
    ext.add_nonce(nonce(rank, 0));
    return deliver({at(wire::PacketType::join, rank, plane), ext.bytes(), {}}, peer(rank));
  }
  wire::Header at(wire::PacketType type, std::uint32_t rank, std::uint8_t plane) const {
    wire::Header h = header(type, rank);
    h.plane = plane;
    return h;
  }
  Decision send(std::uint32_t rank, std::uint8_t plane) {
    wire::Header h = data_header(rank, 0, 1);
    h.plane = plane;
    const std::array<std::int32_t, 1> value{5};
    return deliver({h, {}, std::as_bytes(std::span(value))}, peer(rank));
  }
  void start() {
    join_plane(0, kPlane);
    join_plane(1, kPlane);
    ASSERT_EQ(sent_.size(), 2u);
    epoch_ = sent_[0].header.epoch;
  }
};

TEST_F(PlaneTest, A2_StartSaysHowManyPlanesThereAre) {
  join_plane(0, kPlane);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, wire::PacketType::pending);
  EXPECT_EQ(sent_[0].header.plane, kPlane);
  join_plane(1, kPlane);
  ASSERT_EQ(sent_.size(), 2u);
  for (const Sent& start : sent_) {
    EXPECT_EQ(start.header.type, wire::PacketType::start);
    EXPECT_EQ(start.header.plane, kPlane);
    EXPECT_EQ(wire::find_start_info(start.extensions)->planes, 3u);
  }
}

TEST_F(PlaneTest, A2_ResultsAndAnswersCarryThePlane) {
  start();
  EXPECT_EQ(send(0, kPlane).verdict, Verdict::opened);
  EXPECT_EQ(send(1, kPlane).verdict, Verdict::completed);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.plane, kPlane);
  EXPECT_EQ(sent_[0].elements<std::int32_t>(), std::vector<std::int32_t>{10});
  for (const std::uint32_t seq : {0u, 1u}) {
    wire::Header h = at(wire::PacketType::probe, 0, kPlane);
    h.op = h.seq = seq;
    deliver(h, peer(0));
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_[0].header.plane, kPlane) << wire::name_of(sent_[0].header.type);
  }
  deliver(at(wire::PacketType::leave, 0, kPlane), peer(0));
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, wire::PacketType::ack);
  EXPECT_EQ(sent_[0].header.plane, kPlane);
}

TEST_F(PlaneTest, A2_AbortCarriesThePlane) {
  start();
  send(0, kPlane);
  now_ = now_ + Duration::ms(600);
  expire();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, wire::PacketType::abort);
  EXPECT_EQ(sent_[0].header.plane, kPlane);
  send(0, kPlane);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.plane, kPlane) << "to who has not heard of it";
}

TEST_F(PlaneTest, A2_PacketsOfOtherPlanesAreDroppedWithoutAWord) {
  start();
  for (const std::uint8_t plane : std::array<std::uint8_t, 4>{0, 1, 3, 15}) {
    const Decision d = send(0, plane);
    EXPECT_EQ(d.verdict, Verdict::dropped);
    EXPECT_EQ(d.reason, DropReason::bad_shard);
    EXPECT_TRUE(sent_.empty());
    for (const auto type : {wire::PacketType::lease, wire::PacketType::leave}) {
      EXPECT_EQ(deliver(at(type, 0, plane), peer(0)).reason, DropReason::bad_shard);
      EXPECT_TRUE(sent_.empty());
    }
    // So is one of another epoch: the sender must not take it for an answer.
    ++epoch_;
    EXPECT_EQ(send(0, plane).reason, DropReason::bad_shard);
    EXPECT_TRUE(sent_.empty());
    --epoch_;
  }
  EXPECT_EQ(status().state, JobState::running);
  EXPECT_EQ(status().plane, kPlane);
  EXPECT_EQ(counters().contributions.get(), 0u);
}

// Two loops take over a new configuration one after the other; JOIN is repeated meanwhile.
TEST_F(PlaneTest, Rule16_AJoinToAPlaneThatIsElsewhereIsToComeAgain) {
  const Decision d = join_plane(0, 1);
  EXPECT_EQ(d.verdict, Verdict::refused);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, wire::PacketType::nack);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::configuration_changed);
  EXPECT_EQ(sent_[0].header.plane, 1) << "as it was asked";
  EXPECT_EQ(wire::find_nonce(sent_[0].extensions), nonce(0, 0));
}

// A loop that gets another plane of a job has another job, to all that its epoch was.
TEST_F(PlaneTest, Rule16_AnotherPlaneEndsTheEpoch) {
  start();
  config::JobConfig job = test_job(2);
  job.planes = 3;
  job.plane = 0;
  const auto change = engine_->prepare(test_switch({job}));
  engine_->quiesce(*change, *outbox_);
  sent_.clear();
  collect();
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, wire::PacketType::abort);
  EXPECT_EQ(sent_[0].header.reason, wire::Reason::configuration_changed);
  EXPECT_EQ(sent_[0].header.plane, kPlane);
  engine_->apply(*change);
  EXPECT_EQ(engine_->job_config(0).plane, 0);
  join_plane(0, 0);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].header.type, wire::PacketType::pending);
  EXPECT_EQ(sent_[0].header.plane, 0);
}

}  // namespace
}  // namespace tributary::aggregator
