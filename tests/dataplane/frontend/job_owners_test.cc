#include "dataplane/frontend/job_owners.h"

#include <gtest/gtest.h>

#include <array>

namespace tributary::dataplane {
namespace {

config::SwitchConfig three_lcores() {
  config::SwitchConfig config;
  config.lcores = {-1, -1, -1};
  config.jobs.resize(2);
  config.jobs[0].id = 4;
  config.jobs[1].id = 7;
  config.jobs[1].planes = 2;
  config.jobs[1].lcores = {2, 0};
  return config;
}

std::optional<std::uint16_t> owner(const JobOwners& owners, std::uint32_t job, std::uint8_t plane) {
  wire::Header h;
  h.type = wire::PacketType::probe;
  h.job = job;
  h.plane = plane;
  h.stream = 15;
  std::array<std::byte, wire::kHeaderBytes> bytes;
  wire::serialize(h, {}, bytes);
  return owners.of(wire::peek_job(bytes));
}

TEST(JobOwners, A2_JobAndPlaneSayWhose) {
  const JobOwners owners(three_lcores());
  EXPECT_EQ(owner(owners, 4, 0), 1);
  EXPECT_EQ(owner(owners, 7, 0), 2);
  EXPECT_EQ(owner(owners, 7, 1), 0);
  EXPECT_EQ(owner(owners, 5, 0), std::nullopt);
}

// Its engine has that job, and drops what is for none of its planes; another would refuse the job.
TEST(JobOwners, APlaneThatIsNotThereBelongsToTheFirst) {
  const JobOwners owners(three_lcores());
  EXPECT_EQ(owner(owners, 4, 3), 1);
  EXPECT_EQ(owner(owners, 7, 2), 2);
  EXPECT_EQ(owner(owners, 7, 15), 2);
}

TEST(JobOwners, PlacesStayWithWhoeverHasThemNow) {
  JobOwners first(three_lcores());
  auto next = three_lcores();
  next.jobs[1].lcores = {1, 2};
  JobOwners second(next);
  std::swap(first, second);
  EXPECT_EQ(owner(first, 7, 0), 1);
  EXPECT_EQ(owner(second, 7, 0), 2);
}

TEST(JobOwners, ATruncatedPacketIsNobodys) {
  const JobOwners owners(three_lcores());
  const std::array<std::byte, wire::kHeaderBytes - 1> bytes{};
  EXPECT_EQ(owners.of(wire::peek_job(bytes)), std::nullopt);
}

}  // namespace
}  // namespace tributary::dataplane
