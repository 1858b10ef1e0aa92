// What switches and ranks hold, and for how long.
#include "sim/rules/resource_checker.h"

#include "tests/sim/rules/small_world.h"

namespace tributary::sim {
namespace {

class ResourceCheckerTest : public SmallWorld {
 protected:
  ResourceChecker resources_{run_};
};

TEST_F(ResourceCheckerTest, WhenAllRanksAreDoneNothingIsLeft) {
  build();
  world_.start_all();
  while (ranks_[0]->session()->state() != worker::SessionState::running) ASSERT_TRUE(world_.step());
  resources_.turn_ended(*switch_, world_.local_now(switch_->id()));
  resources_.check_bounds();
  EXPECT_EQ(violation(), "");
  resources_.check_empty();
  EXPECT_NE(violation().find("is over, but 0 slots, 0 results and 2 members are left"),
            std::string::npos)
      << violation();
}

TEST_F(ResourceCheckerTest, AJoinHasABound) {
  build();
  world_.start_all();
  world_.crash(switch_->id());
  resources_.check_bounds();
  EXPECT_EQ(violation(), "");
  // The rank alone would give up; while it stands still, it is excused.
  world_.pause(ranks_[0]->id(), scenario_.jobs[0].join_timeout * 3);
  world_.pause(ranks_[1]->id(), scenario_.jobs[0].join_timeout * 2);
  pass(scenario_.jobs[0].join_timeout * 2 - Duration::ms(1));
  resources_.check_bounds();
  EXPECT_EQ(violation(), "");
}

TEST_F(ResourceCheckerTest, AMemberIsSilentForItsLeaseAtMost) {
  build();
  world_.start_all();
  while (ranks_[0]->session()->state() != worker::SessionState::running) ASSERT_TRUE(world_.step());
  // The switch's own clock, had it not noticed what it has to notice by then.
  const Instant late = world_.local_now(switch_->id()) + scenario_.jobs[0].lease;
  resources_.turn_ended(*switch_, late);
  EXPECT_NE(violation().find("past its lease, and still counts"), std::string::npos) << violation();
}

}  // namespace
}  // namespace tributary::sim
