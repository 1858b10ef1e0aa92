// T9: hosts that notify ranks themselves, so that these may be ahead of the switches.
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using wire::PacketType;

class NotifiedLeafTest : public LeafTest {
 protected:
  void SetUp() override {
    config::JobConfig job = leaf_job();
    job.notify = wire::Notify::host_switch;
    job.hosting = config::HostingConfig{kParentIpv4, {2, 9}};
    build_leaf(job);
    start_info_.notify = static_cast<std::uint8_t>(job.notify);
    run_epoch();
  }
  bool hosted_result(std::uint32_t seq, std::int32_t value) {
    sent_.clear();
    wire::Header h = from_parent(PacketType::result, seq);
    h.flags = wire::kFlagLast | wire::kFlagAtPs;
    h.covered = 3;
    h.dtype = wire::DType::int32;
    h.element_count = 1;
    const bool taken =
        engine_->on_hosted_result({h, {}, std::as_bytes(std::span(&value, 1))}, now_, *outbox_);
    collect();
    return taken;
  }
};

TEST_F(NotifiedLeafTest, T9_TheHostsResultGoesToTheChildrenAtOnce) {
  contribute_worker(0, 0, 1);
  contribute_worker(2, 0, 2);
  ASSERT_TRUE(hosted_result(0, 10));
  ASSERT_EQ(to(Outgoing::To::job_group).size(), 1u);
  EXPECT_EQ(to(Outgoing::To::job_group)[0].elements<std::int32_t>(), std::vector<std::int32_t>{10});
  // The root's copy of it changes nothing, and no rank is told twice.
  EXPECT_EQ(result(0, 10).reason, DropReason::duplicate);
  EXPECT_TRUE(sent_.empty());
  EXPECT_FALSE(hosted_result(0, 11)) << "one decision";
}

TEST_F(NotifiedLeafTest, T9_OfAnotherEpochOrOfNothingSentItIsOfNoUse) {
  EXPECT_FALSE(hosted_result(0, 10));
  contribute_worker(0, 0, 1);
  EXPECT_FALSE(hosted_result(0, 10)) << "its own children's data is still coming";
  contribute_worker(2, 0, 2);
  const std::uint16_t epoch = epoch_;
  epoch_ = static_cast<std::uint16_t>(epoch - 1);
  EXPECT_FALSE(hosted_result(0, 10));
  epoch_ = epoch;
  EXPECT_TRUE(hosted_result(0, 10));
}

TEST_F(LeafTest, T9_WhereTheRootNotifiesNobodyElseDoes) {
  config::JobConfig job = leaf_job();
  job.hosting = config::HostingConfig{kParentIpv4, {2, 9}};
  build_leaf(job);
  run_epoch();
  contribute_worker(0, 0, 1);
  contribute_worker(2, 0, 2);
  wire::Header h = from_parent(PacketType::result, 0);
  h.covered = 3;
  h.dtype = wire::DType::int32;
  h.element_count = 1;
  h.flags = wire::kFlagLast;
  const std::int32_t value = 10;
  EXPECT_FALSE(
      engine_->on_hosted_result({h, {}, std::as_bytes(std::span(&value, 1))}, now_, *outbox_));
}

// A rank that holds the result by the host's word goes on, and leaves.
class NotifiedRootTest : public EngineTest {
 protected:
  void SetUp() override { begin(wire::Notify::direct); }
  void begin(wire::Notify notify) {
    config::JobConfig job = test_job(3);
    job.notify = notify;
    build(test_switch({job}));
    engine_->set_completion_host(kJob, 0, 0x0A020001, 1);
    join_all();
    for (std::uint32_t rank = 0; rank < 3; ++rank) contribute(rank, 0, {1}, wire::kFlagAtPs);
  }
};

TEST_F(NotifiedRootTest, T9_AsksTheHostForAResultThatSomebodyHolds) {
  EXPECT_EQ(contribute(1, 4, {1}).reason, DropReason::beyond_window);
  ASSERT_EQ(sent_.size(), 1u);
  EXPECT_EQ(sent_[0].to, Outgoing::To::completion_host);
  EXPECT_EQ(sent_[0].header.type, PacketType::probe);
  EXPECT_EQ(sent_[0].header.seq, 0u);
  EXPECT_EQ(sent_[0].header.origin, 1u);
  EXPECT_EQ(sent_[0].header.epoch, epoch_);
  // The others' data asks for the same, and once is enough for a while.
  contribute(2, 4, {1});
  EXPECT_TRUE(sent_.empty());
  now_ = now_ + Duration::ms(2);
  probe(2, 4);
  EXPECT_EQ(sent_.size(), 1u);
  now_ = now_ + Duration::ms(2);
  acknowledge(0, 1);
  EXPECT_EQ(sent_.size(), 1u);
}

TEST_F(NotifiedRootTest, T9_WhereTheRootNotifiesNobodyIsAhead) {
  begin(wire::Notify::root);
  EXPECT_EQ(contribute(1, 4, {1}).reason, DropReason::beyond_window);
  EXPECT_TRUE(sent_.empty());
}

// T17: what an engine below has taken and answered by itself, this switch may never see.
TEST_F(EngineTest, T9_AcknowledgementsOfAllPassOverWhatWasNeverSeen) {
  config::JobConfig job = test_job(3);
  job.notify = wire::Notify::direct;
  build(test_switch({job}));
  join_all();
  EXPECT_EQ(acknowledge(1, 1).reason, DropReason::beyond_window);
  EXPECT_EQ(acknowledge(2, 1).reason, DropReason::beyond_window);
  EXPECT_EQ(acknowledge(0, 100).reason, DropReason::beyond_window) << "nobody gets that far";
  EXPECT_EQ(probe(1, 4).reason, DropReason::beyond_window) << "child 0 may want chunk 0";
  EXPECT_EQ(acknowledge(0, 1).verdict, Verdict::noted);
  EXPECT_EQ(contribute(1, 4, {1}).verdict, Verdict::opened);
}

// What it holds needs nothing more of it; what it has not finished does.
TEST_F(NotifiedRootTest, T9_LeavingEndsNoOpThatTheRankHolds) {
  contribute(0, 1, {1});
  contribute(1, 1, {1});
  wire::Header h = header(PacketType::leave, 2);
  h.op = 2;
  EXPECT_EQ(deliver(h, peer(2)).verdict, Verdict::answered);
  EXPECT_EQ(sent_.size(), 1u) << "its ACK";
}

TEST_F(NotifiedRootTest, T9_LeavingInTheMiddleOfAnOpEndsTheEpoch) {
  contribute(0, 1, {1});
  wire::Header h = header(PacketType::leave, 2);
  h.op = 1;
  EXPECT_EQ(deliver(h, peer(2)).verdict, Verdict::epoch_aborted);
}

}  // namespace
}  // namespace tributary::aggregator
