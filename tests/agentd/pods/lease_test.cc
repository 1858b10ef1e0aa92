// The agent ends its containers before the manager gives away what they hold (C2).
#include "tools/agentd/pods/lease.h"

#include <gtest/gtest.h>

#include <fstream>
#include <utility>

#include "manager/pods/pod_book.h"
#include "tests/manager/pods/nodes.h"
#include "tests/manager/pods/pod_text.h"
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

// The clock of a node beside its manager's: another origin, and another rate.
struct NodeClock {
  std::int64_t offset_s;
  std::int64_t rate_percent;
  [[nodiscard]] Instant at_manager_time(Instant manager) const {
    return at(offset_s) + Duration::ns(manager.to_ns() / 100 * rate_percent);
  }
};

// When the manager frees what the pods of a node hold whose report it had at 101 s.
Instant freed_by_manager(const manager::BookLimits& limits) {
  manager::PodBook book(limits, [](const auto&, const auto&, const auto&) {});
  const auto report = [&book](Instant now) {
    manager::NodeReport figures{.figures = manager::node("x", {manager::npu("n0")}),
                                .instances = {}};
    book.report("x", std::move(figures), now);
  };
  report(at(100));
  book.create(manager::parse_manifest(manager::cpu_pod("a", "", "example.com/npu: 1"), "m"));
  book.begin_scheduling();
  while (book.schedule_one({})) {
  }
  report(at(101));
  EXPECT_EQ(book.pods().at("a").node, "x");
  Instant now = at(101);
  while (book.pods().at("a").node == "x" && now < at(1000))
    book.advance(now = now + Duration::ms(100));
  return now;
}

// Containers have ten seconds to end after SIGTERM, and have ended when their device is free: at
// any offset, and rates that differ by up to a tenth.
TEST(Lease, C2_ClocksThatDifferEndContainersBeforeTheirDevicesAreFree) {
  const manager::BookLimits limits;
  const Instant freed = freed_by_manager(limits);
  EXPECT_LT(freed, at(1000));
  for (const std::int64_t offset_s :
       {std::int64_t{0}, std::int64_t{1'000'000'000}, std::int64_t{-50}})
    for (const std::int64_t rate : {90, 100, 110}) {
      const NodeClock clock{offset_s, rate};
      const manager::Scratch scratch;
      Lease lease(scratch.file(), "boot");
      lease.sent(1, clock.at_manager_time(at(100)));
      lease.acknowledged(1, limits.lease);
      EXPECT_FALSE(lease.is_over(clock.at_manager_time(at(115)))) << offset_s << " s, " << rate;
      EXPECT_TRUE(lease.is_over(clock.at_manager_time(freed - Duration::seconds(10))))
          << offset_s << " s, " << rate << " %";
    }
}

}  // namespace
}  // namespace tributary::agentd
