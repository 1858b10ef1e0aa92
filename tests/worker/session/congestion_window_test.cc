// The window that marks make smaller (rule 15): a function of the results in the order of seqs.
#include "worker/session/congestion_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tributary::worker {
namespace {

// Follows results from `seq` on; m: marked.
void follow(CongestionWindow& window, std::uint32_t& seq, const char* results) {
  for (; *results != 0; ++results) {
    const bool marked = *results == 'm';
    if (marked) window.expect_mark();
    window.follow(seq++, marked);
  }
}
void follow(CongestionWindow& window, std::uint32_t& seq, std::uint32_t unmarked) {
  for (; unmarked > 0; --unmarked) window.follow(seq++, false);
}

TEST(CongestionWindow, Rule15_AMarkHalvesIt) {
  CongestionWindow window(16);
  std::uint32_t seq = 0;
  EXPECT_EQ(window.limit(), 16u);
  EXPECT_TRUE(window.at_rest());
  window.expect_mark();
  EXPECT_FALSE(window.at_rest()) << "so that its result is followed when its turn comes";
  EXPECT_EQ(window.limit(), 16u);
  EXPECT_TRUE(window.follow(seq, true));
  EXPECT_EQ(window.limit(), 8u);
}

// All that was under way by the old limit may be marked for the same queue.
TEST(CongestionWindow, Rule15_OnceAWindow) {
  CongestionWindow window(16);
  std::uint32_t seq = 100;
  follow(window, seq, "m");
  follow(window, seq, "mmmmmmmmmmmmmmmm");
  EXPECT_EQ(window.limit(), 8u);
  follow(window, seq, "m");
  EXPECT_EQ(window.limit(), 4u);
  follow(window, seq, "mmmmmmmm");
  EXPECT_EQ(window.limit(), 4u);
  follow(window, seq, "m");
  EXPECT_EQ(window.limit(), 2u);
}

TEST(CongestionWindow, Rule15_NeverSoSmallThatNothingMoves) {
  for (const std::uint32_t w : {1u, 2u, 4u, 64u}) {
    CongestionWindow window(w);
    std::uint32_t seq = 0;
    for (int i = 0; i < 1000; ++i) follow(window, seq, "m");
    EXPECT_EQ(window.limit(), std::min(CongestionWindow::kLeast, w)) << w;
  }
}

TEST(CongestionWindow, Rule15_GrowsBySixteenthsAWindowAndComesToRest) {
  CongestionWindow window(64);
  std::uint32_t seq = 0;
  follow(window, seq, "m");
  ASSERT_EQ(window.limit(), 32u);
  follow(window, seq, 31);
  EXPECT_EQ(window.limit(), 32u);
  follow(window, seq, 1);
  EXPECT_EQ(window.limit(), 36u);
  follow(window, seq, 36 + 40 + 44 + 48 + 52 + 56);
  EXPECT_EQ(window.limit(), 60u);
  EXPECT_FALSE(window.at_rest());
  follow(window, seq, 60);
  EXPECT_EQ(window.limit(), 64u);
  EXPECT_TRUE(window.at_rest());
}

TEST(CongestionWindow, Rule15_AMarkDelaysTheNextIncrease) {
  CongestionWindow window(64);
  std::uint32_t seq = 0;
  follow(window, seq, "m");
  follow(window, seq, 31);
  follow(window, seq, "m");
  EXPECT_EQ(window.limit(), 32u) << "the window's decrease was made";
  follow(window, seq, 31);
  EXPECT_EQ(window.limit(), 32u);
  follow(window, seq, 1);
  EXPECT_EQ(window.limit(), 36u);
}

// What is not at rest is followed; what is may skip any number of seqs, all of them round included.
TEST(CongestionWindow, Rule15_RestLeavesNothingBehind) {
  CongestionWindow window(2);
  std::uint32_t seq = 0xFFFFFFF0;
  follow(window, seq, "m");
  EXPECT_EQ(window.limit(), 2u);
  EXPECT_FALSE(window.at_rest()) << "its window is not over";
  follow(window, seq, 2);
  EXPECT_FALSE(window.at_rest());
  follow(window, seq, 1);
  EXPECT_TRUE(window.at_rest());
  CongestionWindow wide(8);
  for (const std::uint32_t at : {0xFFFFFFF8u, 0x7FFFFFFFu, 0u}) {
    seq = at;
    follow(wide, seq, "m");
    EXPECT_EQ(wide.limit(), 4u) << at;
    follow(wide, seq, 64);
    EXPECT_TRUE(wide.at_rest());
    EXPECT_EQ(wide.limit(), 8u);
  }
}

// Others say that the switch's word came in another order: the same for each.
TEST(CongestionWindow, Rule15_MarksThatCameEarlyChangeNothingBeforeTheirTurn) {
  CongestionWindow in_order(16);
  CongestionWindow all_known(16);
  const std::vector<std::uint32_t> marks = {3, 4, 30, 31, 47, 90};
  for (std::size_t i = 0; i < marks.size(); ++i) all_known.expect_mark();
  for (std::uint32_t seq = 0; seq < 400; ++seq) {
    const bool marked = std::find(marks.begin(), marks.end(), seq) != marks.end();
    if (marked) in_order.expect_mark();
    EXPECT_EQ(in_order.follow(seq, marked), all_known.follow(seq, marked)) << seq;
    EXPECT_EQ(in_order.limit(), all_known.limit()) << seq;
  }
  EXPECT_TRUE(in_order.at_rest());
}

}  // namespace
}  // namespace tributary::worker
