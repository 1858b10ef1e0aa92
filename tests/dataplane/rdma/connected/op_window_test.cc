// A5: addresses of the window, and which chunk a write is.
#include "dataplane/rdma/connected/op_window.h"

#include <gtest/gtest.h>

namespace tributary::dataplane {
namespace {

// Two ops of 2.5 chunks.
WindowTerms terms() {
  return {.base = 0x500000000,
          .rkey = 7,
          .ring_base = 0x1000,
          .ring_rkey = 9,
          .op_bytes = 160,
          .chunk_bytes = 64,
          .ops = 2,
          .dtype = wire::DType::int32,
          .reduce_op = wire::ReduceOp::sum};
}

TEST(OpWindow, A5_AnAddressNamesAChunk) {
  const WindowTerms t = terms();
  EXPECT_EQ(t.chunks(), 3u);
  EXPECT_EQ(t.bytes(), 320u);
  const auto at = [&](std::uint64_t offset, std::size_t most = 64) {
    return place_at(t, t.base + offset, most);
  };
  EXPECT_EQ(at(0)->index, 0u);
  EXPECT_EQ(at(64)->index, 1u);
  EXPECT_EQ(at(128)->index, 2u);
  EXPECT_EQ(at(128)->bytes, 32u) << "an op's last chunk may be shorter";
  EXPECT_EQ(at(160)->index, 3u) << "the next op begins";
  EXPECT_EQ(at(160)->bytes, 64u);
  EXPECT_EQ(at(288)->index, 5u);
  EXPECT_FALSE(at(1));
  EXPECT_FALSE(at(0, 63)) << "not the whole chunk";
  EXPECT_FALSE(at(320));
  EXPECT_FALSE(place_at(t, t.base - 64, 64));
}

TEST(OpWindow, A5_TheWindowEndsWhereItEnds) {
  const WindowTerms t = terms();
  EXPECT_TRUE(t.contains(t.base, 320));
  EXPECT_FALSE(t.contains(t.base, 321));
  EXPECT_TRUE(t.contains(t.base + 319, 1));
  EXPECT_FALSE(t.contains(t.base + 320, 1));
  EXPECT_FALSE(t.contains(t.base - 1, 1));
  EXPECT_FALSE(t.contains(~std::uint64_t{0}, 2)) << "nor does a sum that wraps reach into it";
}

TEST(OpWindow, ResultsGoToARingOfTwiceTheOps) {
  const WindowTerms t = terms();
  EXPECT_EQ(ring_address(t, 0), 0x1000u);
  EXPECT_EQ(ring_address(t, 2), 0x1000u + 128);
  EXPECT_EQ(ring_address(t, 3), 0x1000u + 160);
  EXPECT_EQ(ring_address(t, 11), 0x1000u + 3 * 160 + 128);
  EXPECT_EQ(ring_address(t, 12), 0x1000u);
}

TEST(OpWindow, TermsThatCannotBeKeptAreRefused) {
  const auto why = [](const WindowTerms& t, wire::Partials p = wire::Partials::wide) {
    return object_to(t, p);
  };
  EXPECT_EQ(why(terms()), nullptr);
  WindowTerms t = terms();
  t.dtype = wire::DType::float16;
  EXPECT_NE(why(t), nullptr) << "rule 17: a chunk of 16 bits has room for wide sums";
  EXPECT_EQ(why(t, wire::Partials::narrow), nullptr);
  t.reduce_op = static_cast<wire::ReduceOp>(200);
  EXPECT_NE(why(t, wire::Partials::narrow), nullptr);
  t = terms();
  t.dtype = static_cast<wire::DType>(99);
  EXPECT_NE(why(t), nullptr);
  for (const std::uint32_t bytes : {0u, 158u, (1u << 30) + 4}) {
    t = terms();
    t.op_bytes = bytes;
    EXPECT_NE(why(t), nullptr) << bytes;
  }
}

class OpWindowTest : public testing::Test {
 protected:
  OpWindowTest() { window.start(terms()); }
  OpWindow window{8};  // chunks; the addresses are of six
};

TEST_F(OpWindowTest, AWriteToAPlaceAgainIsTheNextOpThere) {
  EXPECT_EQ(window.next_at(4), 4u);
  window.note_written(4);
  EXPECT_FALSE(window.next_at(4)) << "10 is beyond the window of 8";
  EXPECT_EQ(window.next_at(1), 1u);
  window.note_written(1);
  EXPECT_EQ(window.next_at(1), 7u) << "op 2, whether or not op 0's result is there";
  window.note_written(7);
  EXPECT_FALSE(window.next_at(1));
}

TEST_F(OpWindowTest, TheWindowMovesWithResultsThatAreHeld) {
  for (std::uint64_t n = 0; n < 6; ++n) window.note_written(n);
  window.note_held(1);
  EXPECT_EQ(window.base(), 0u);
  EXPECT_FALSE(window.next_at(2)) << "8 is one too far";
  window.note_held(0);
  EXPECT_EQ(window.base(), 2u);
  EXPECT_EQ(window.next_at(2), 8u);
  EXPECT_EQ(window.next_at(1), 7u);
  window.note_held(0);
  window.note_held(100);
  EXPECT_EQ(window.base(), 2u) << "of no use";
}

// The write that completes a chunk: on UC its result is held before the write is noted.
TEST_F(OpWindowTest, AWriteNotedTooLateLeavesNoMark) {
  for (std::uint64_t n = 0; n < 40; ++n) {
    ASSERT_EQ(window.next_at(static_cast<std::uint32_t>(n % 6)), n);
    ASSERT_TRUE(window.note_sent(n));
    window.note_held(n);
    window.note_written(n);
  }
}

TEST_F(OpWindowTest, APlaceIsGrantedWhenTheResultBeforeWasSent) {
  EXPECT_TRUE(window.is_granted(5));
  EXPECT_FALSE(window.is_granted(6));
  ASSERT_TRUE(window.note_sent(0));
  EXPECT_TRUE(window.is_granted(6));
  EXPECT_FALSE(window.is_granted(7));
  window.note_held(0);
  EXPECT_TRUE(window.is_granted(6));
}

TEST_F(OpWindowTest, WholeOpsInARowOnlyWait) {
  EXPECT_FALSE(window.only_waits()) << "nothing is written";
  window.note_written(0);
  window.note_written(1);
  EXPECT_FALSE(window.only_waits()) << "a part of an op";
  window.note_written(2);
  EXPECT_TRUE(window.only_waits());
  window.note_written(4);
  EXPECT_FALSE(window.only_waits()) << "one before it is missing";
  window.note_written(3);
  window.note_written(5);
  EXPECT_TRUE(window.only_waits());
  for (std::uint64_t n = 0; n < 4; ++n) {
    ASSERT_TRUE(window.note_sent(n));
    window.note_held(n);
  }
  EXPECT_TRUE(window.only_waits()) << "of an op that has results in part";
}

TEST_F(OpWindowTest, AnOpIsWholeWhenItsLastResultIsSent) {
  EXPECT_TRUE(window.note_sent(4));
  EXPECT_TRUE(window.note_sent(0));
  EXPECT_TRUE(window.note_sent(2));
  EXPECT_FALSE(window.is_whole(0));
  EXPECT_FALSE(window.note_sent(2)) << "a result that comes twice counts once";
  EXPECT_FALSE(window.is_whole(0));
  EXPECT_TRUE(window.note_sent(1));
  EXPECT_TRUE(window.is_whole(0));
  EXPECT_FALSE(window.is_whole(1));
  EXPECT_FALSE(window.note_sent(16)) << "beyond twice the window";
}

// One that was written a moment ago may have its result on the way.
TEST_F(OpWindowTest, AfterARoundAllChunksThatStillWaitAreAskedForOnce) {
  const auto round = [&] {
    std::vector<std::uint64_t> asked;
    window.begin_round();
    while (const auto n = window.next_question()) asked.push_back(*n);
    return asked;
  };
  for (const std::uint64_t n : {0, 1, 3, 4}) window.note_written(n);
  EXPECT_TRUE(round().empty()) << "written since the round before";
  window.note_written(2);
  window.note_written(5);
  ASSERT_TRUE(window.note_sent(1));
  EXPECT_EQ(round(), (std::vector<std::uint64_t>{0, 2, 3, 4}));
  EXPECT_EQ(round(), (std::vector<std::uint64_t>{0, 2, 3, 4, 5}));
  window.begin_round();
  ASSERT_EQ(window.next_question(), 0u);
  EXPECT_FALSE(window.round_is_over());
  for (std::uint64_t n = 0; n < 5; ++n) {
    window.note_sent(n);
    window.note_held(n);
  }
  EXPECT_EQ(window.next_question(), 5u) << "results came in the middle of a round";
  EXPECT_TRUE(window.round_is_over());
  EXPECT_FALSE(window.next_question());
  window.start(terms());
  EXPECT_TRUE(round().empty());
}

// Against a model: any order of writes within the window, results in any order.
TEST_F(OpWindowTest, GoesRoundForManyOps) {
  std::uint64_t written = 0;
  for (std::uint64_t n = 0; n < 1000; ++n) {
    for (; written < n + 6; ++written) {
      const auto place = static_cast<std::uint32_t>(written % 6);
      ASSERT_EQ(window.next_at(place), written);
      window.note_written(written);
    }
    ASSERT_TRUE(window.note_sent(n));
    EXPECT_EQ(window.is_whole(n / 3), n % 3 == 2);
    window.note_held(n);
    ASSERT_EQ(window.base(), n + 1);
  }
}

}  // namespace
}  // namespace tributary::dataplane
