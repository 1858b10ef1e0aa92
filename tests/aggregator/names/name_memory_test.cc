// Memory for named data, as the configuration asks for it.
#include "aggregator/names/name_memory.h"

#include <gtest/gtest.h>

#include "aggregator/names/name_engine.h"
#include "config/plan/lcore_plan.h"

namespace tributary::aggregator {
namespace {

config::SwitchConfig configuration(std::uint32_t lcores) {
  config::SwitchConfig config;
  config.names.megabytes = 2;
  config.names.segment_bytes = 1024;
  config.names.entries = 1000;
  config.names.pending = 64;
  config.lcores.clear();
  for (std::uint32_t i = 0; i < lcores; ++i) config.lcores.push_back(static_cast<int>(i));
  return config;
}

TEST(NameMemory, C4IsThatOfTheEngine) {
  const config::SwitchConfig config = configuration(1);
  const NameMemory memory = name_memory(config);
  const NameEngine engine(config, 1);
  EXPECT_EQ(memory.segments, std::uint64_t{engine.store()->slots()} * engine.store()->slot_bytes());
  EXPECT_GE(memory.tables, engine.store()->capacity() * sizeof(NameEntry));
  EXPECT_LT(memory.tables, engine.store()->capacity() * (sizeof(NameEntry) + 32) + 64 * 1024);
}

TEST(NameMemory, TablesAreOfEachLoopAndSegmentsAreSharedOut) {
  const NameMemory one = name_memory(configuration(1));
  const NameMemory two = name_memory(configuration(2));
  EXPECT_EQ(two.segments, one.segments);
  EXPECT_GT(two.tables, one.tables + 1000 * sizeof(NameEntry));
}

TEST(NameMemory, IsDescribedWhereThereIsAny) {
  EXPECT_EQ(describe_names(config::SwitchConfig{}), "");
  EXPECT_EQ(name_memory(config::SwitchConfig{}).total(), 0u);
  EXPECT_EQ(describe_names(configuration(1)).substr(0, 40),
            "names: 3.6 MiB (segments 2.0, tables 1.6");
}

}  // namespace
}  // namespace tributary::aggregator
