// Reports of a loop to the watch. The loop may have other jobs than the configuration says.
#include "control/stragglers/straggler_watch.h"

#include <gtest/gtest.h>

#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

TEST(StragglerWatch, HearsNothingOfAJobThatTheLoopHasOtherwise) {
  const config::SwitchConfig file = null_config();
  RunningSwitch sw(file);
  dataplane::PacketLoop& packet_loop = sw.get().packet_loops()[0];
  const auto children = [&](std::size_t place, const config::JobConfig& job) {
    const auto ask = [&](Instant now) { return ask_about(packet_loop, now, place, job, 0); };
    return packet_loop.mailbox().ask(ask, Duration::seconds(60)).excluded.size();
  };
  const config::JobConfig job = file.jobs.front();
  EXPECT_EQ(children(0, job), 3u);
  EXPECT_EQ(children(1, job), 0u) << "a job that has gone, or is to come";
  auto other = job;
  other.workers = 2;
  EXPECT_EQ(children(0, other), 0u);
  auto next = file;
  next.jobs.front() = other;
  sw.get().apply(next);
  EXPECT_EQ(children(0, job), 0u);
  EXPECT_EQ(children(0, other), 2u);
}

}  // namespace
}  // namespace tributary::control
