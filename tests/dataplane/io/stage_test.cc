#include "dataplane/io/stage.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tributary::dataplane {
namespace {

TEST(Stage, NamesAreDistinct) {
  std::set<std::string> names;
  for (std::size_t s = 0; s < kStageCount; ++s) names.insert(name_of(static_cast<Stage>(s)));
  EXPECT_EQ(names.size(), kStageCount);
  EXPECT_STREQ(name_of(Stage::receive), "receive");
}

TEST(StageMeter, AttributesCyclesToTheStageThatEnds) {
  StageTable table;
  StageMeter meter(table, 1000);
  meter.mark(Stage::receive, 32, 1500);
  meter.mark(Stage::classify, 32, 1600);
  meter.mark(Stage::receive, 0, 1700);
  const auto& receive = table[static_cast<std::size_t>(Stage::receive)];
  EXPECT_EQ(receive.calls.get(), 1u);
  EXPECT_EQ(receive.packets.get(), 32u);
  EXPECT_EQ(receive.cycles.get(), 500u);
  EXPECT_EQ(receive.idle_cycles.get(), 100u);
  EXPECT_EQ(table[static_cast<std::size_t>(Stage::classify)].cycles.get(), 100u);
  meter.mark_rest(Stage::receive, 1730);
  EXPECT_EQ(receive.calls.get(), 1u);
  EXPECT_EQ(receive.cycles.get(), 530u);
  EXPECT_EQ(receive.idle_cycles.get(), 100u);
}

TEST(StageMeter, CallsWithWorkAloneAreInTheHistogram) {
  StageTable table;
  StageMeter meter(table, 0);
  const StageCounters& expire = table[static_cast<std::size_t>(Stage::expire)];
  std::uint64_t tsc = 0;
  const auto call = [&](std::size_t packets, std::uint64_t cycles) {
    meter.mark(Stage::expire, packets, tsc += cycles);
  };
  for (int i = 0; i < 1000; ++i) call(0, 1'000'000);
  EXPECT_EQ(expire.call_cycles.count(), 0u);
  EXPECT_EQ(expire.longest_cycles.get(), 0u);
  for (int i = 0; i < 98; ++i) call(1, 200);
  call(32, 5000);
  call(1, 40);
  EXPECT_EQ(expire.call_cycles.count(), expire.calls.get());
  EXPECT_EQ(expire.call_cycles.in(0), 1u);   // below 128
  EXPECT_EQ(expire.call_cycles.in(1), 98u);  // below 256
  EXPECT_EQ(expire.longest_cycles.get(), 5000u);
  EXPECT_EQ(expire.call_cycles.percentile(50, 5000), 256u);
  EXPECT_EQ(expire.call_cycles.percentile(100, 5000), 5000u);
}

}  // namespace
}  // namespace tributary::dataplane
