#include "tools/agentd/pods/host.h"

#include <gtest/gtest.h>

namespace tributary::agentd {
namespace {

TEST(Host, LoadIsTheUsedShareBetweenTwoMoments) {
  const CpuTimes before = parse_cpu_times("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 1 2 3\n");
  EXPECT_EQ(before.busy, 150u);
  EXPECT_EQ(before.all, 1000u);
  const CpuTimes now = parse_cpu_times("cpu  130 0 70 850 100 0 0 0 999 0\n");
  EXPECT_DOUBLE_EQ(cpu_load(before, now), 50.0 / 150.0);
  EXPECT_EQ(cpu_load(now, before), 0);
  EXPECT_EQ(parse_cpu_times("rubbish").all, 0u);
}

TEST(Host, MemoryIsTheTotal) {
  EXPECT_EQ(parse_memory_total("MemTotal:       16 kB\nMemFree: 1 kB\n"), 16'384u);
  EXPECT_EQ(parse_memory_total("rubbish"), 0u);
}

TEST(Host, ThisMachineHasCpusAndMemory) {
  const Host host;
  EXPECT_GE(host.cpu_millis(), 1000u);
  EXPECT_GT(host.memory_bytes(), 0u);
  EXPECT_FALSE(host.boot().empty());
}

}  // namespace
}  // namespace tributary::agentd
