// Which chunk may take another's slot, and how many slots a job is sure of.
#include "sim/rules/slot_checker.h"

#include "tests/sim/rules/small_world.h"

namespace tributary::sim {
namespace {

class SlotCheckerTest : public SmallWorld {
 protected:
  static JobScenario job(std::uint8_t priority, std::uint32_t quota = 0) {
    JobScenario job;
    job.window = 8;
    job.sums.priority = priority;
    job.sums.quota = quota;
    return job;
  }
  SlotChecker slots_{run_};
};

constexpr Duration kBusy = Duration::ms(1);
constexpr Duration kIdle = Duration::ms(20);

TEST_F(SlotCheckerTest, O7_NoSlotGoesToALowerPriority) {
  scenario_.preempt_idle = kIdle;
  scenario_.preempt_busy = true;
  EXPECT_FALSE(slots_.may_take(job(1), job(2), kIdle, false));
  EXPECT_FALSE(slots_.may_take(job(1), job(2), kIdle, true));
}

TEST_F(SlotCheckerTest, O7_AnIdleSlotGoesToAnEqualOrHigherPriority) {
  scenario_.preempt_idle = kIdle;
  EXPECT_EQ(slots_.may_take(job(2), job(1), kIdle, false), TakenSlot::idle_lower);
  EXPECT_EQ(slots_.may_take(job(1), job(1), kIdle, false), TakenSlot::idle_equal);
  EXPECT_FALSE(slots_.may_take(job(2), job(1), kBusy, false));
  scenario_.preempt_idle = Duration();
  EXPECT_FALSE(slots_.may_take(job(2), job(1), kIdle, false)) << "no slot counts as idle";
}

TEST_F(SlotCheckerTest, O7_ABusySlotGoesToAHigherPriorityOrToWhomItIsGuaranteed) {
  EXPECT_EQ(slots_.may_take(job(1), job(1), kBusy, true), TakenSlot::borrowed);
  EXPECT_FALSE(slots_.may_take(job(2), job(1), kBusy, false));
  scenario_.preempt_busy = true;
  EXPECT_EQ(slots_.may_take(job(2), job(1), kBusy, false), TakenSlot::busy_lower);
  EXPECT_FALSE(slots_.may_take(job(1), job(1), kBusy, false));
}

TEST_F(SlotCheckerTest, AGuaranteeIsAnEqualShareUpToTheQuota) {
  scenario_.pool_slots = 12;
  EXPECT_EQ(slots_.guaranteed_slots(job(0), 1), 8u) << "its window";
  EXPECT_EQ(slots_.guaranteed_slots(job(0), 2), 6u);
  EXPECT_EQ(slots_.guaranteed_slots(job(0, 5), 2), 5u);
  EXPECT_EQ(slots_.guaranteed_slots(job(0, 5), 3), 4u);
}

}  // namespace
}  // namespace tributary::sim
