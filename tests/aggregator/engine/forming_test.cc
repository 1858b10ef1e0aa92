// The ranks that an epoch waits for in a tree: the ranks that are missing, on whatever switch, and
// none that waits itself (protocol, "Trees").
#include "aggregator/engine/forming.h"

#include <gmock/gmock.h>

#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using wire::PacketType;

constexpr Instant kNow = Instant::from_ns(1'000'000'000);

config::JobConfig mixed_job() {
  config::JobConfig job = test_job(70);
  job.children = {{true, 8, 0x0A4D0008, "p0", {0, 2, 69}}, {false, 1, 0, "p1", {1}}};
  return job;
}

TEST(Forming, ASwitchsWordHoldsForHalfASecond) {
  const ChildMap children(mixed_job());
  Forming forming(children);
  EXPECT_FALSE(forming.waits(0, 2, kNow)) << "nothing is known";
  EXPECT_FALSE(forming.speaks(0, kNow));
  EXPECT_TRUE(forming.told(0, std::array{2u, 69u}, kNow));
  EXPECT_TRUE(forming.speaks(0, kNow + Duration::ms(499)));
  EXPECT_FALSE(forming.speaks(0, kNow + Duration::ms(500)));
  EXPECT_FALSE(forming.speaks(1, kNow)) << "a worker";
  EXPECT_TRUE(forming.waits(0, 0, kNow));
  EXPECT_FALSE(forming.waits(0, 2, kNow));
  EXPECT_FALSE(forming.waits(0, 69, kNow));
  EXPECT_FALSE(forming.waits(1, 1, kNow)) << "a worker speaks for itself";
  EXPECT_TRUE(forming.waits(0, 0, kNow + Duration::ms(499)));
  EXPECT_FALSE(forming.waits(0, 0, kNow + Duration::ms(500)));
  EXPECT_TRUE(forming.told(0, std::array{0u}, kNow + Duration::ms(500)));
  EXPECT_TRUE(forming.waits(0, 69, kNow + Duration::ms(500)));
  EXPECT_FALSE(forming.waits(0, 0, kNow + Duration::ms(500)));
}

TEST(Forming, OnlyRanksBelowTheSwitchAreTaken) {
  const ChildMap children(mixed_job());
  Forming forming(children);
  EXPECT_FALSE(forming.told(0, std::array{2u, 1u}, kNow));
  EXPECT_FALSE(forming.told(0, std::array{70u}, kNow));
  EXPECT_FALSE(forming.told(0, {}, kNow));
  EXPECT_FALSE(forming.waits(0, 0, kNow));
}

TEST(Forming, WithoutSwitchesBelowNothingIsKept) {
  const ChildMap children(test_job(70));
  EXPECT_EQ(Forming(children).table_bytes(), 0u);
}

TEST_F(LeafTest, Rule1_TellsItsParentWhichRanksAreMissing) {
  join_worker(0);
  ASSERT_THAT(up(), SizeIs(1));
  const Sent word = up()[0];
  EXPECT_EQ(word.header.type, PacketType::pending);
  EXPECT_EQ(word.header.epoch, 0);
  EXPECT_EQ(word.header.origin, kLeafId);
  EXPECT_EQ(word.header.flags, wire::kFlagCompleteSubtree);
  EXPECT_THAT(word.missing(), ElementsAre(2));
  now_ = now_ + Duration::ms(49);
  join_worker(0);
  EXPECT_THAT(up(), IsEmpty()) << "it has just said so";
  now_ = now_ + Duration::ms(1);
  join_worker(0);
  EXPECT_THAT(up(), SizeIs(1));
}

class RootFormingTest : public RootTest {
 protected:
  wire::Header word() const {
    wire::Header h = from_leaf(PacketType::pending);
    h.epoch = 0;
    h.flags = wire::kFlagCompleteSubtree;
    return h;
  }
  Decision tell(const wire::Header& h, const std::vector<std::uint32_t>& missing,
                const wire::UdpPeer& from) {
    std::array<std::byte, 64> room;
    wire::ExtensionWriter ext(room);
    ext.add_missing_ids(missing);
    return deliver({h, ext.bytes(), {}}, from);
  }
  std::vector<std::uint32_t> missing_for_rank_1() {
    join(1);
    return sent_.at(0).missing();
  }
};

TEST_F(RootFormingTest, Rule1_NamesTheRanksThatASwitchBelowWaitsFor) {
  EXPECT_THAT(missing_for_rank_1(), ElementsAre(0, 2));
  EXPECT_EQ(tell(word(), {2}, leaf()).verdict, Verdict::noted);
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_THAT(missing_for_rank_1(), ElementsAre(2));
  EXPECT_TRUE(status().members[0].waits);
  EXPECT_FALSE(status().members[1].waits) << "it has joined";
  now_ = now_ + Duration::ms(500);
  EXPECT_FALSE(status().members[0].waits) << "silent";
  EXPECT_THAT(missing_for_rank_1(), ElementsAre(0, 2)) << "rank 0 has given up, too";
}

TEST_F(RootFormingTest, Rule18_OnlyTheSwitchItselfSaysWhomItWaitsFor) {
  join(1);
  wire::UdpPeer elsewhere = leaf();
  elsewhere.port = 2;
  EXPECT_EQ(tell(word(), {2}, elsewhere).reason, DropReason::sender_mismatch);
  elsewhere = leaf();
  ++elsewhere.ipv4;
  EXPECT_EQ(tell(word(), {2}, elsewhere).reason, DropReason::sender_mismatch);
  EXPECT_EQ(tell(word(), {1}, leaf()).reason, DropReason::bad_coverage);
  wire::Header of_worker = word();
  of_worker.origin = of_worker.child = 1;
  EXPECT_EQ(tell(of_worker, {2}, worker()).reason, DropReason::bad_type);
  of_worker.flags = 0;
  EXPECT_EQ(tell(of_worker, {2}, worker()).reason, DropReason::bad_type);
  wire::Header other_plane = word();
  other_plane.plane = 1;
  EXPECT_EQ(tell(other_plane, {2}, leaf()).reason, DropReason::bad_shard);
  EXPECT_THAT(missing_for_rank_1(), ElementsAre(0, 2));
  join_leaf();
  ASSERT_EQ(status().state, JobState::running);
  EXPECT_EQ(tell(word(), {2}, leaf()).reason, DropReason::stale_epoch);
}

// A switch between two others, with switch 8 (ranks 0 and 2) and rank 1 below it.
class MiddleFormingTest : public RootFormingTest {
 protected:
  void SetUp() override {
    config::JobConfig job = root_job();
    job.workers = 4;
    job.parent = config::ParentConfig{"root", kParentId, kParentIpv4, {2, 9}, "p3", 1, 2};
    build(test_switch({job}));
    workers_ = 4;
  }
};

TEST_F(MiddleFormingTest, Rule1_PassesOnWhatASwitchBelowSays) {
  tell(word(), {2}, leaf());
  ASSERT_THAT(sent_, SizeIs(1)) << "though no rank of its own waits";
  EXPECT_EQ(sent_[0].to, Outgoing::To::parent);
  EXPECT_THAT(sent_[0].missing(), ElementsAre(2, 1));
}

}  // namespace
}  // namespace tributary::aggregator
