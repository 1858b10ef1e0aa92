// Jobs are handed out once, by size, and come back when their last user has left.
#include "worker/mpi/job_board.h"

#include <gmock/gmock.h>

namespace tributary::mpi {
namespace {

using testing::HasSubstr;

TEST(JobBoard, HandsEachJobOutOnce) {
  JobBoard board({4, 9});
  EXPECT_EQ(board.take(2), 4u);
  EXPECT_EQ(board.take(2), 9u);
  EXPECT_EQ(board.take(2), std::nullopt);
  EXPECT_THAT(board.why_none(2), HasSubstr("names 2; other communicators use 2"));
}

TEST(JobBoard, AJobIsFreeWhenAllItsRanksHaveLeft) {
  JobBoard board({4});
  EXPECT_EQ(board.take(2), 4u);
  board.left(4);
  EXPECT_EQ(board.take(2), std::nullopt);
  board.left(4);
  board.left(4);  // one too many changes nothing
  EXPECT_EQ(board.take(3), 4u);
  board.left(4);
  EXPECT_EQ(board.take(3), std::nullopt);
}

TEST(JobBoard, AWrongSizeIsNotOfferedAgain) {
  JobBoard board({4, 5});
  EXPECT_EQ(board.take(8), 4u);
  board.wrong_size(4, 8);
  EXPECT_EQ(board.take(8), 5u);
  board.wrong_size(5, 8);
  EXPECT_EQ(board.take(8), std::nullopt);
  EXPECT_THAT(board.why_none(8), HasSubstr("other worker counts for 2"));
  EXPECT_EQ(board.take(2), 4u);
}

TEST(JobBoard, ABrokenJobIsNotOfferedAgain) {
  JobBoard board({4});
  EXPECT_EQ(board.take(2), 4u);
  board.broken(4);
  board.left(4);
  board.left(4);
  EXPECT_EQ(board.take(2), std::nullopt);
  EXPECT_THAT(board.why_none(2), HasSubstr("1 could not be joined"));
}

TEST(JobBoard, SaysThatTheListIsEmpty) {
  JobBoard board({});
  EXPECT_EQ(board.take(2), std::nullopt);
  EXPECT_THAT(board.why_none(2), HasSubstr("TRIBUTARY_JOBS names no job"));
  board.left(1);
  board.wrong_size(1, 2);
  board.broken(1);
}

}  // namespace
}  // namespace tributary::mpi
