#include "aggregator/chunk/job_index.h"

#include <gtest/gtest.h>

#include "core/prng.h"

namespace tributary::aggregator {
namespace {

TEST(JobIndex, FindsEveryIdAndNoOther) {
  Prng prng(1);
  std::vector<int> jobs(1000);
  std::vector<std::uint32_t> ids;
  JobIndex<int> index(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    // Ids that differ in high bits only, in low bits only, and at random.
    const auto n = static_cast<std::uint32_t>(i);
    ids.push_back(i % 3 == 0   ? n << 20
                  : i % 3 == 1 ? n
                               : static_cast<std::uint32_t>(prng.next()) | 0x400);
    index.insert(ids.back(), &jobs[i]);
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) EXPECT_NE(index.find(ids[i]), nullptr);
  EXPECT_EQ(index.find(0xFFFFFFFF), nullptr);
}

TEST(JobIndex, RefusesTheSameIdTwice) {
  int a = 0;
  JobIndex<int> index(2);
  EXPECT_TRUE(index.insert(7, &a));
  EXPECT_FALSE(index.insert(7, &a));
  EXPECT_EQ(index.find(7), &a);
  EXPECT_EQ(JobIndex<int>(0).find(7), nullptr);
}

// A switch that only forwards still gets packets of jobs.
TEST(JobIndex, FindsNothingWhereThereAreNoJobs) {
  const JobIndex<int> index(0);
  for (const std::uint32_t id : {0u, 1u, 7u, 0xFFFFFFFFu}) EXPECT_EQ(index.find(id), nullptr);
}

}  // namespace
}  // namespace tributary::aggregator
