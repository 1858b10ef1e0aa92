#include "dataplane/stage.h"

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
}

}  // namespace
}  // namespace tributary::dataplane
