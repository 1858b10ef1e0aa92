// T18: a sub-switch is late. The engine waits for what it covers, not for the switch: whatever
// brings its workers' data, the sum of them all or each by itself, clears those that it covers.
#include "tests/completion/engine_fixture.h"

namespace tributary::completion {
namespace {

using wire::PacketType;
using wire::Reason;
using Ints = std::vector<std::int32_t>;

// root{A{0,1,2},B{3,4}}: A's sum is there, B missed the root's deadline.
class LateSwitchTest : public CompletionTest {
 protected:
  void give_up() {
    build(5);
    EXPECT_EQ(aggregate({0, 1, 2}, 0, {7}, Reason::deadline).verdict, Verdict::held);
    EXPECT_EQ(awaited(), (Ranks{3, 4}));
  }
  // What a rank whose data is there is told.
  Ranks awaited() {
    probe(0, 0);
    EXPECT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_[0].header.type, PacketType::pending);
    return sent_[0].missing();
  }
  void expect_result() {
    ASSERT_EQ(sent_.size(), 1u);
    EXPECT_EQ(sent_[0].header.type, PacketType::result);
    EXPECT_EQ(sent_[0].elements<std::int32_t>(), Ints{31});
    EXPECT_EQ(counters().completed[static_cast<std::size_t>(Reason::deadline)].get(), 1u);
  }
};

TEST_F(LateSwitchTest, T18_ItsSumClearsAllThatItCovers) {
  give_up();
  EXPECT_EQ(aggregate({3, 4}, 0, {24}, Reason::deadline).verdict, Verdict::completed);
  expect_result();
}

TEST_F(LateSwitchTest, T18_ItsWorkersAreClearedOneByOne) {
  give_up();
  EXPECT_EQ(single(4, 0, {16}, wire::kFlagBypass).verdict, Verdict::held);
  EXPECT_EQ(awaited(), Ranks{3});
  EXPECT_EQ(single(3, 0, {8}, wire::kFlagBypass).verdict, Verdict::completed);
  expect_result();
}

// A rank that was late below the late switch joins the wait list.
TEST_F(LateSwitchTest, T18_StragglersInsideALateSumAreAwaited) {
  give_up();
  EXPECT_EQ(aggregate({3}, 0, {8}, Reason::deadline).verdict, Verdict::held);
  EXPECT_EQ(awaited(), Ranks{4});
  EXPECT_EQ(single(4, 0, {16}, wire::kFlagBypass).verdict, Verdict::completed);
  expect_result();
}

// Its sum and a copy of one worker's data were both on their way: counted once.
TEST_F(LateSwitchTest, T18_ASumAfterOneOfItsWorkersCountsOnce) {
  give_up();
  EXPECT_EQ(single(3, 0, {8}, wire::kFlagResend).verdict, Verdict::held);
  EXPECT_EQ(aggregate({3, 4}, 0, {24}, Reason::deadline).verdict, Verdict::completed);
  expect_result();
  EXPECT_EQ(counters().superseded.get(), 1u);
  EXPECT_EQ(single(4, 0, {16}, wire::kFlagBypass).verdict, Verdict::dropped);
}

}  // namespace
}  // namespace tributary::completion
