// Sums that went up and did not come to be part of the parent's: lost on the way, on two levels, or
// taken by the engine of a host that this switch is (T17; rules 6 and 7).
#include <gmock/gmock.h>

#include "core/net/udp_peer.h"
#include "tests/aggregator/upstream_fixture.h"

namespace tributary::aggregator {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using wire::PacketType;

class LostSumTest : public LeafTest {
 protected:
  void build_and_run(config::Release release) {
    config::JobConfig job = leaf_job();
    job.release = release;
    build_leaf(job);
    run_epoch();
  }
  // The header of the sum of op 0.
  wire::Header sum_goes_up() {
    contribute_worker(0, 0, 10);
    contribute_worker(2, 0, 5);
    EXPECT_THAT(up(), SizeIs(1));
    return up().at(0).header;
  }
  Decision sum_is_missing() { return deliver(from_parent(PacketType::unknown), parent()); }
};

// The parent lacks it for good, and does not have to ask for it: the host is here.
TEST_F(LostSumTest, T17_ASumThatTheHostHereHasTakenIsNotLost) {
  build_and_run(config::Release::sent);
  const wire::Header sum = sum_goes_up();
  wire::Header other = sum;
  other.shard = 7;
  engine_->on_sum_taken(other, now_);
  other = sum;
  other.job = 99;
  engine_->on_sum_taken(other, now_);
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::sent) << "another's";
  engine_->on_sum_taken(sum, now_);
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::escalated);
  EXPECT_EQ(probe(0, 0).verdict, Verdict::forwarded);
  ASSERT_THAT(up(), SizeIs(1));
  EXPECT_EQ(up()[0].header.origin, 0u) << "the rank asks the host, not this switch for its sum";
  EXPECT_NE(up()[0].header.flags & wire::kFlagBypass, 0u);
  EXPECT_EQ(sum_is_missing().verdict, Verdict::dropped);
  EXPECT_THAT(sent_, IsEmpty()) << "no rank sends its data again";
  EXPECT_EQ(result(0, 16).verdict, Verdict::completed);
}

TEST_F(LostSumTest, T17_ASumThatIsKeptStaysSent) {
  build_and_run(config::Release::returned);
  engine_->on_sum_taken(sum_goes_up(), now_);
  EXPECT_EQ(engine_->chunk_state(0, 0, 0), ChunkState::sent);
}

// A switch below, with rank 0, and rank 2: both levels learn at once that they have to send again.
TEST_F(LostSumTest, Rule7_ASwitchBelowIsAskedForItsSumToo) {
  config::JobConfig job = leaf_job();
  constexpr std::uint32_t kBelow = 77;
  job.children = {{true, kBelow, kLeafIpv4 + 1, "p0", {0}}, {false, 2, 0, "p1", {2}}};
  job.release = config::Release::sent;
  build_leaf(job);
  const wire::UdpPeer below = {0, 47000, kLeafIpv4 + 1, std::nullopt, {2, 1}};
  wire::Header h = from_worker(PacketType::join, 0);
  h.origin = kBelow;
  h.flags = wire::kFlagCompleteSubtree;
  h.covered = 1;
  std::array<std::byte, 16> room;
  wire::ExtensionWriter ext(room);
  ext.add_nonce(5);
  deliver({h, ext.bytes(), {}}, below);
  join_worker(2);
  const std::uint64_t nonce = join_nonce();
  epoch_ = 500;
  ASSERT_EQ(start(epoch_, nonce).verdict, Verdict::answered);
  h.type = PacketType::aggregate;
  h.epoch = epoch_;
  h.dtype = wire::DType::int32;
  h.element_count = 1;
  h.flags = wire::kFlagLast | wire::kFlagCompleteSubtree;
  const std::int32_t value = 10;
  deliver({h, {}, std::as_bytes(std::span(&value, 1))}, below);
  contribute_worker(2, 0, 5);
  ASSERT_THAT(up(), SizeIs(1));
  sum_is_missing();
  ASSERT_THAT(to(Outgoing::To::peer), SizeIs(2));
  EXPECT_EQ(to(Outgoing::To::peer)[0].peer, below);
  EXPECT_EQ(to(Outgoing::To::peer)[1].peer, place(2));
  for (const Sent& s : to(Outgoing::To::peer)) {
    EXPECT_EQ(s.header.type, PacketType::unknown);
    EXPECT_EQ(s.header.reason, wire::Reason::resend);
  }
}

}  // namespace
}  // namespace tributary::aggregator
