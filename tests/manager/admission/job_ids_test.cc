#include "manager/admission/job_ids.h"

#include <gtest/gtest.h>

#include <set>

namespace tributary::manager {
namespace {

const Duration kRest = Duration::seconds(60);

TEST(JobIds, LiveIdsDifferInTheirLowBits) {
  JobIds ids(kRest);
  std::set<std::uint32_t> low;
  for (std::uint32_t i = 1; i < JobIds::kIds; ++i) low.insert(ids.take({}).value() % JobIds::kIds);
  EXPECT_EQ(low.size(), JobIds::kIds - 1);
  EXPECT_FALSE(low.contains(0));  // names no job
  EXPECT_EQ(ids.take({}), std::nullopt);
}

TEST(JobIds, AnIdRestsAfterItsJob) {
  JobIds ids(kRest);
  for (std::uint32_t i = 1; i < JobIds::kIds; ++i) ids.take({});
  const Instant now = Instant::from_ns(5);
  ids.release(700, now);
  EXPECT_EQ(ids.take(now + kRest - Duration::ns(1)), std::nullopt);
  EXPECT_EQ(ids.take(now + kRest), 700u);
}

TEST(JobIds, ARestoredIdIsNotGivenAgain) {
  JobIds ids(kRest);
  EXPECT_TRUE(ids.restore(65'536 + 2));
  EXPECT_FALSE(ids.restore(2));
  EXPECT_EQ(ids.take({}), 1u);
  EXPECT_EQ(ids.take({}), 3u);
  EXPECT_EQ(ids.live(), 3u);
}

TEST(JobIds, ResumesWhereItWas) {
  JobIds ids(kRest);
  ids.take({});
  JobIds after(kRest);
  after.resume_at(ids.next());
  EXPECT_EQ(after.take({}), 2u);
  after.resume_at(65'535);
  EXPECT_EQ(after.take({}), 65'535u);
  EXPECT_EQ(after.take({}), 1u);
}

}  // namespace
}  // namespace tributary::manager
