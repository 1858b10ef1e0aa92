// Histories of two managers by seed (world.h): never two whose writes both count, no slot and no id
// given twice, no job that was answered lost, none that waits though its room is free.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/manager/histories/world.h"

namespace tributary::manager::histories {
namespace {

constexpr int kSteps = 80;

std::uint64_t number_of(const char* variable, std::uint64_t usual) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

void add(Counts& all, const Counts& one) {
  all.pauses += one.pauses;
  all.kills += one.kills;
  all.takeovers += one.takeovers;
  all.refused_commits += one.refused_commits;
  all.busy += one.busy;
  all.admitted += one.admitted;
  all.expired += one.expired;
  all.strays += one.strays;
  all.fenced_renewals += one.fenced_renewals;
}

// TRIBUTARY_HISTORIES: how many; TRIBUTARY_SEED: the first.
TEST(Histories, T20_TwoManagersDecideAsOne) {
  const std::uint64_t first = number_of("TRIBUTARY_SEED", 1);
  const std::uint64_t histories = number_of("TRIBUTARY_HISTORIES", 100);
  Counts counts;
  for (std::uint64_t seed = first; seed < first + histories; ++seed) {
    World world(seed);
    world.run(kSteps);
    add(counts, world.counts());
    for (const std::string& fault : world.faults())
      ADD_FAILURE() << "TRIBUTARY_SEED=" << seed << " TRIBUTARY_HISTORIES=1: " << fault;
    if (testing::Test::HasFailure()) return;
  }
  if (histories < 100) return;
  EXPECT_GT(counts.pauses, histories);
  EXPECT_GT(counts.kills, histories / 2);
  EXPECT_GT(counts.refused_commits, histories);
  EXPECT_GT(counts.busy, histories / 2);
  EXPECT_GT(counts.admitted, histories * 5);
  EXPECT_GT(counts.expired, histories / 5);
  EXPECT_GT(counts.strays, histories / 20);
  EXPECT_GT(counts.fenced_renewals, histories / 100);
  printf(
      "%llu histories: %llu takeovers, %llu pauses, %llu kills, %llu refused commits, %llu "
      "refusals of busy switches, %llu jobs admitted, %llu expired, %llu strays, %llu renewals "
      "of deposed managers refused\n",
      static_cast<unsigned long long>(histories), static_cast<unsigned long long>(counts.takeovers),
      static_cast<unsigned long long>(counts.pauses), static_cast<unsigned long long>(counts.kills),
      static_cast<unsigned long long>(counts.refused_commits),
      static_cast<unsigned long long>(counts.busy),
      static_cast<unsigned long long>(counts.admitted),
      static_cast<unsigned long long>(counts.expired),
      static_cast<unsigned long long>(counts.strays),
      static_cast<unsigned long long>(counts.fenced_renewals));
}

}  // namespace
}  // namespace tributary::manager::histories
