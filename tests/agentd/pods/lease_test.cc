// The agent ends its containers before the manager gives away what they hold (C2).
#include "tools/agentd/pods/lease.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/manager/store/scratch.h"

namespace tributary::agentd {
namespace {

Instant at(std::int64_t seconds) {
  return Instant::from_ns(seconds * 1'000'000'000);
}

TEST(Lease, C2_HoldsFromWhenTheAcknowledgedReportWasSent) {
  const manager::Scratch scratch;
  Lease lease(scratch.file(), "boot");
  EXPECT_TRUE(lease.is_over(at(0)));
  lease.sent(1, at(100));
  lease.sent(2, at(110));
  lease.acknowledged(1, Duration::seconds(40));
  EXPECT_FALSE(lease.is_over(at(129)));
  EXPECT_TRUE(lease.is_over(at(130)));
  lease.acknowledged(2, Duration::seconds(40));
  EXPECT_FALSE(lease.is_over(at(139)));
  lease.acknowledged(7, Duration::seconds(4000));
  EXPECT_TRUE(lease.is_over(at(140)));
}

TEST(Lease, OutlivesTheAgentButNotTheMachine) {
  const manager::Scratch scratch;
  {
    Lease lease(scratch.file(), "boot");
    lease.sent(1, at(100));
    lease.acknowledged(1, Duration::seconds(40));
  }
  EXPECT_FALSE(Lease(scratch.file(), "boot").is_over(at(129)));
  EXPECT_TRUE(Lease(scratch.file(), "boot").is_over(at(130)));
  EXPECT_TRUE(Lease(scratch.file(), "other").is_over(at(1)));
  std::ofstream(scratch.file()) << "rubbish";
  EXPECT_TRUE(Lease(scratch.file(), "boot").is_over(at(1)));
}

}  // namespace
}  // namespace tributary::agentd
