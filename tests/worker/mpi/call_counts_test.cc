// The lines in which an MPI program's calls are counted, as written and as read.
#include "worker/mpi/call_counts.h"

#include <gtest/gtest.h>

namespace tributary::mpi {
namespace {

constexpr std::size_t kAllreduce = static_cast<std::size_t>(Kind::allreduce);
constexpr std::size_t kBarrier = static_cast<std::size_t>(Kind::barrier);

TEST(CallCounts, AreReadAsTheyAreWritten) {
  CallCounts counts;
  counts.ranks = 4;
  counts.to_switch[kAllreduce] = 36;
  counts.to_mpi[kAllreduce] = 12;
  counts.to_mpi[kBarrier] = 18446744073709551615u;
  const std::string text = counts_text(counts);
  EXPECT_EQ(text, "calls of 4 ranks, switch/MPI: allreduce 36/12, barrier 0/18446744073709551615");
  const auto read = read_counts("[1,0]<stderr>:tributary: rank 0: " + text + "\n");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->ranks, 4u);
  EXPECT_EQ(read->to_switch, counts.to_switch);
  EXPECT_EQ(read->to_mpi, counts.to_mpi);
}

TEST(CallCounts, OfAProgramWithoutCollectivesAreNone) {
  CallCounts counts;
  counts.ranks = 2;
  EXPECT_EQ(counts_text(counts), "calls of 2 ranks, switch/MPI: none");
  const auto read = read_counts("tributary: rank 0: " + counts_text(counts));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->to_switch[kAllreduce], 0u);
}

TEST(CallCounts, ReduceScatterIsNotTakenForReduce) {
  const auto read =
      read_counts("tributary: rank 0: calls of 4 ranks, switch/MPI: reduce_scatter 5/6");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->to_switch[static_cast<std::size_t>(Kind::reduce_scatter)], 5u);
  EXPECT_EQ(read->to_mpi[static_cast<std::size_t>(Kind::reduce_scatter)], 6u);
  EXPECT_EQ(read->to_switch[static_cast<std::size_t>(Kind::reduce)], 0u);
}

TEST(CallCounts, OtherLinesAreNone) {
  for (const char* line :
       {"", "calls of 4 ranks, switch/MPI: none", "tributary: rank 1: calls of 4 ranks",
        "tributary: rank 0: calls of x ranks, switch/MPI: none",
        "tributary: rank 0: calls of 4 ranks, switch/MPI: allreduce 1",
        "tributary: rank 0: calls of 4 ranks, switch/MPI: scan 1/2",
        "tributary: rank 0: calls of 4 ranks, switch/MPI: allreduce 99999999999999999999/1"})
    EXPECT_FALSE(read_counts(line)) << line;
  EXPECT_TRUE(announces_counts("tributary: rank 0: " + counting_text(4)));
  EXPECT_FALSE(announces_counts("tributary: rank 0: MPI_Init"));
}

}  // namespace
}  // namespace tributary::mpi
