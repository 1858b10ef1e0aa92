#include "manager/admission/switch_amounts.h"

#include <gmock/gmock.h>

#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

class SwitchAmountsTest : public testing::Test {
 protected:
  SwitchAmountsTest() { set_slots(256); }
  void set_slots(std::uint32_t slots) {
    Inventory inventory = two_level_tree();
    for (auto& sw : inventory.switches) sw.slots = slots;
    amounts.set_switches(assemble(inventory));
  }
  std::uint64_t slots_at(const std::string& node, bool despite_refusal = false) {
    return amounts.capacity_at(node, despite_refusal).slots;
  }

  SwitchAmounts amounts;
};

TEST_F(SwitchAmountsTest, WhatIsInUseOutlivesTheTree) {
  const SwitchAmounts::ByName needs = {{"A", {.slots = 64, .jobs = 1}}, {"B", {.slots = 32}}};
  amounts.take(needs);
  amounts.take(needs);
  set_slots(128);
  EXPECT_EQ(amounts.used_at("A").slots, 128u);
  EXPECT_EQ(amounts.used_at("A").jobs, 2u);
  EXPECT_EQ(amounts.used_at("root"), Amount{});
  amounts.give_back(needs);
  EXPECT_EQ(amounts.used_at("B").slots, 32u);
  EXPECT_EQ(amounts.total_capacity().slots, 3 * 128u);
}

TEST_F(SwitchAmountsTest, ASwitchIsBelievedThatHasLessThanItsFigures) {
  amounts.cap("A", {.slots = 64});
  amounts.cap("B", {.slots = 4096});
  EXPECT_EQ(slots_at("A"), 64u);
  EXPECT_EQ(slots_at("B"), 256u);
  EXPECT_EQ(slots_at("moon"), 0u);
  EXPECT_EQ(amounts.total_capacity().slots, 64u + 2 * 256u);
}

TEST_F(SwitchAmountsTest, ARefusalLeavesWhatIsInUseUntilItIsForgivenOrTheSwitchSaysMore) {
  amounts.take({{"A", {.slots = 64}}});
  amounts.refuse("A");
  EXPECT_EQ(slots_at("A"), 64u);
  EXPECT_EQ(slots_at("A", true), 256u);
  EXPECT_TRUE(amounts.forgive("A"));
  EXPECT_FALSE(amounts.forgive("A"));
  EXPECT_EQ(slots_at("A"), 256u);
  amounts.refuse("A");
  amounts.cap("A", {.slots = 128});
  EXPECT_EQ(slots_at("A"), 128u);
}

}  // namespace
}  // namespace tributary::manager
