#include "sim/run/shrink.h"

#include <gtest/gtest.h>

#include "sim/run/simulation.h"
#include "sim/scenario/scenario_file.h"
#include "sim/scenario/swarm.h"

namespace tributary::sim {
namespace {

// No real failure is at hand, so time runs out: that needs nothing but one rank.
TEST(Shrink, KeepsWhatTheFailureNeedsAndNothingElse) {
  Scenario s = draw_scenario(7);
  s.jobs.resize(1);
  s.jobs[0].workers = 5;
  s.script.push_back(
      {ScriptAction::pause, ScriptTarget::worker, 0, Duration::us(5), Duration::us(5)});
  s.limit = Duration::us(20);
  ASSERT_TRUE(simulate(s).failure);
  const Shrunk small = shrink(s, {.runs = 400});
  EXPECT_TRUE(simulate(small.scenario).failure);
  EXPECT_EQ(small.scenario.jobs[0].workers, 1u);
  EXPECT_TRUE(small.scenario.script.empty());
  EXPECT_EQ(small.scenario.links.loss_ppm, 0u);
  EXPECT_LE(small.runs, 400u);
  // What is printed is what failed.
  EXPECT_TRUE(simulate(parse_scenario(to_yaml(small.scenario), "shrunk")).failure);
}

// A failure that is full of events would take hours.
TEST(Shrink, EndsWithItsEvents) {
  Scenario s = draw_scenario(7);
  s.most_events = 100;
  const Shrunk small = shrink(s, {.runs = 400, .events = 1000});
  EXPECT_LE(small.runs, 10u);
  EXPECT_NE(small.failure.find("no end within 100 events"), std::string::npos) << small.failure;
}

// A job with a model needs its server, which some step would take away.
TEST(Shrink, TriesOnlyWhatAFileCanSay) {
  Scenario s = draw_scenario(7);
  s.jobs.resize(1);
  s.jobs[0].model = true;
  s.jobs[0].servers = s.servers.count = 1;
  s.jobs[0].depth = 1;
  s.servers.lease = Duration::ms(100);
  s.servers.heartbeat = Duration::ms(10);
  s.limit = Duration::us(20);
  const Shrunk small = shrink(s, {.runs = 400});
  EXPECT_NO_THROW(parse_scenario(to_yaml(small.scenario), "shrunk"));
}

}  // namespace
}  // namespace tributary::sim
