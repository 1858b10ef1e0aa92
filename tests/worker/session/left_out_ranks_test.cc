// Rule 21: results that lack ranks, as a worker takes them.
#include <gmock/gmock.h>

#include "core/wire/degraded.h"
#include "tests/worker/session_fixture.h"
#include "worker/session/block_scaled.h"

namespace tributary::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::PacketType;

// Rank 1 of three.
class LeftOutRanksTest : public SessionTest {
 protected:
  void begin(std::size_t count) {
    start_degrading();
    values.assign(count, 1);
    op.data = reinterpret_cast<std::byte*>(values.data());
    op.count = count;
    op.dtype = wire::DType::int32;
    session->submit(op, now);
  }
  void start_degrading(std::uint32_t flags = wire::kFlagDegraded) {
    drain();
    wire::ExtensionWriter ext(room);
    ext.add_nonce(kNonce);
    ext.add(start_info());
    wire::Header h = from_switch(PacketType::start);
    h.flags = flags;
    h.child = 1;
    receive(h, &ext);
  }
  void receive_degraded(wire::Header h, std::uint32_t counted, std::uint64_t missing,
                        std::span<const std::byte> payload) {
    wire::ExtensionWriter ext(room);
    wire::add_degraded_list(ext, counted, std::span(&missing, 1));
    h.flags |= wire::kFlagDegraded;
    h.covered = counted;
    receive(h, &ext, payload);
  }

  std::vector<std::int32_t> values;
  Op op;
};

TEST_F(LeftOutRanksTest, Rule21_AnOpLacksEveryRankThatSomeChunkLacks) {
  begin(12);  // three chunks
  const auto sent = drain();
  ASSERT_EQ(sent.size(), 3u);
  receive_degraded(result_of(sent[0]), 2, 0b001, sent[0].payload);
  receive_degraded(result_of(sent[1]), 2, 0b100, sent[1].payload);
  receive_result(sent[2]);
  ASSERT_EQ(session->take_finished(), &op);
  EXPECT_FALSE(op.failure);
  EXPECT_THAT(op.left_out, ElementsAre(0b101u));
  ASSERT_EQ(op.lacking.size(), 2u);
  for (std::uint32_t chunk = 0; chunk < 2; ++chunk) {
    EXPECT_EQ(op.lacking[chunk].chunk, chunk);
    EXPECT_EQ(op.lacking[chunk].counted, 2u);
  }
  EXPECT_EQ(session->counters().degraded.get(), 2u);
}

TEST_F(LeftOutRanksTest, Rule21_TheLateRankLearnsThatItIsNotInside) {
  begin(4);
  const auto sent = drain();
  const std::vector<std::int32_t> sum = {10, 20, 30, 40};
  receive_degraded(result_of(sent[0]), 2, 0b010, std::as_bytes(std::span(sum)));
  ASSERT_EQ(session->take_finished(), &op);
  EXPECT_THAT(op.left_out, ElementsAre(0b010u));
  EXPECT_EQ(values, sum);
}

TEST_F(LeftOutRanksTest, Rule21_ExactResultsLackNobody) {
  begin(4);
  receive_result(drain()[0]);
  ASSERT_EQ(session->take_finished(), &op);
  EXPECT_THAT(op.left_out, IsEmpty());
}

TEST_F(LeftOutRanksTest, Rule21_AListThatContradictsItselfIsRefused) {
  begin(4);
  const Sent sent = drain()[0];
  const auto refused = [&](std::uint32_t counted, std::uint64_t missing) {
    const auto before = session->counters().drops.get(DropReason::op_mismatch);
    receive_degraded(result_of(sent), counted, missing, sent.payload);
    EXPECT_EQ(session->counters().drops.get(DropReason::op_mismatch), before + 1);
  };
  refused(1, 0b001);
  refused(3, 0b001);
  refused(2, 0b1000);
  wire::Header unsaid = result_of(sent);
  unsaid.covered = 2;
  receive(unsaid, nullptr, sent.payload);
  EXPECT_EQ(session->take_finished(), nullptr);
  EXPECT_THAT(op.left_out, IsEmpty());
}

TEST_F(LeftOutRanksTest, Rule21_OnlyWhereStartHasSaidSo) {
  start_degrading(0);
  values.assign(4, 1);
  op.data = reinterpret_cast<std::byte*>(values.data());
  op.count = 4;
  op.dtype = wire::DType::int32;
  session->submit(op, now);
  const Sent sent = drain()[0];
  receive_degraded(result_of(sent), 2, 0b001, sent.payload);
  EXPECT_EQ(session->take_finished(), nullptr);
}

// The others were asked for floats while this rank slept.
TEST_F(LeftOutRanksTest, Rule12_AResultOfTheSecondAttemptIsTakenInTheFirst) {
  start_degrading();
  std::vector<float> floats = {1, 2, 3, 4};
  BlockScaled scaled(floats, 3, 4, std::int16_t{0});
  op.count = 4;
  op.dtype = wire::DType::int32;
  op.scaled = &scaled;
  session->submit(op, now);
  const Sent sent = drain()[0];
  wire::Header h = result_of(sent);
  h.attempt = wire::kFloatRetry;
  h.flags |= wire::kFlagFloatRetry;
  h.dtype = wire::DType::float32;
  h.encoding = wire::Encoding::plain;
  h.scale_exponent = 0;
  const std::vector<float> sum = {10, 20, 30, 40};
  receive_degraded(h, 2, 0b010, std::as_bytes(std::span(sum)));
  ASSERT_EQ(session->take_finished(), &op);
  EXPECT_THAT(floats, ElementsAre(10, 20, 30, 40));
}

}  // namespace
}  // namespace tributary::worker
