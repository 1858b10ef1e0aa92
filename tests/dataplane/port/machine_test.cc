#include "dataplane/port/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/port/eal.h"
#include "tests/dataplane/fake_sysfs.h"

namespace tributary::dataplane {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

// Four sockets of two CPUs each, neighbours apart, as some firmware counts them.
class FourSockets : public testing::Test {
 protected:
  FourSockets() {
    for (int node = 0; node < 4; ++node) sysfs.node(node, {node, node + 4}, 512);
    sysfs.card("0000:81:00.0", 2);
    sysfs.card("0000:01:00.0", -1);
  }
  FakeSysfs sysfs;
};

TEST_F(FourSockets, CpusAndCards) {
  const Sysfs read(sysfs.root());
  EXPECT_EQ(read.socket_of_cpus({5}), 1);
  EXPECT_EQ(read.socket_of_cpus({3, 7}), 3);
  EXPECT_EQ(read.socket_of_cpus({3, 4}), config::kAnySocket);
  EXPECT_EQ(read.socket_of_cpus({99}), config::kAnySocket);
  EXPECT_EQ(read.socket_of_card("0000:81:00.0"), 2);
  EXPECT_EQ(read.socket_of_card("81:00.0"), 2) << "without the domain";
  EXPECT_EQ(read.socket_of_card("0000:01:00.0"), config::kAnySocket) << "the firmware says nothing";
  EXPECT_EQ(read.socket_of_card("0000:02:00.0"), config::kAnySocket);
  EXPECT_EQ(read.free_bytes(0), 512u << 20);
  EXPECT_EQ(read.free_bytes(9), std::nullopt);
}

TEST_F(FourSockets, WhatThereIsOfIt) {
  config::SwitchConfig config;
  config.lcores = {6, -1, 1};
  config.ports = {{"a", "0000:81:00.0", 1500}, {"b", "net_memif0", 1500}};
  const auto machine = machine_before_dpdk(config, {2, 6}, Sysfs(sysfs.root()));
  EXPECT_THAT(machine.lcores, ElementsAre(2, 2, 1)) << "not pinned, but all on one socket";
  EXPECT_THAT(machine.ports, ElementsAre(2, config::kAnySocket));
}

TEST(Machine, WithoutAKernelThatKnowsEverythingIsAnywhere) {
  const Sysfs nothing("/nonexistent");
  EXPECT_EQ(nothing.socket_of_cpus({0}), config::kAnySocket);
  EXPECT_EQ(nothing.socket_of_card("0000:81:00.0"), config::kAnySocket);
  EXPECT_EQ(nothing.free_bytes(0), std::nullopt);
}

class TwoSockets : public testing::Test {
 protected:
  std::string memory(unsigned free_on_1 = 512) {
    FakeSysfs sysfs;
    sysfs.node(0, {0, 2}, 512);
    sysfs.node(1, {1, 3}, free_on_1);
    sysfs.card("0000:81:00.0", 1);
    const auto args = eal_arguments(config, {{0, 1, 2, 3}, "tributary-7", "error", sysfs.root()});
    const auto at = std::find_if(args.begin(), args.end(), [](const std::string& arg) {
      return arg == "-m" || arg == "--socket-mem";
    });
    return *at + " " + *(at + 1);
  }
  TwoSockets() {
    config.memory = {true, 256};
    config.lcores = {0, 2};
    config.ports = {{"a", "net_memif0", 1500}};
  }
  config::SwitchConfig config;
};

TEST_F(TwoSockets, OneInUseIsToldHowMuchAsEver) {
  EXPECT_EQ(memory(), "-m 256");
  config.lcores = {-1};
  config.ports = {{"a", "0000:81:00.0", 1500}};
  EXPECT_EQ(memory(), "-m 256");
}

TEST_F(TwoSockets, EachIsToldItsShare) {
  config.lcores = {0, 1};
  EXPECT_THAT(memory(), testing::MatchesRegex("--socket-mem 1[0-9][0-9],1[0-9][0-9]"));
  // The only port is a card of socket 1; only lcores are on socket 0.
  config.ports = {{"a", "0000:81:00.0", 1500}};
  config.ports[0].queues = 16;
  const std::string text = memory();
  unsigned first = 0;
  unsigned second = 0;
  ASSERT_EQ(std::sscanf(text.c_str(), "--socket-mem %u,%u", &first, &second), 2);
  EXPECT_LT(first, second);
  EXPECT_LE(first + second, 256u);
  EXPECT_GE(first + second, 255u);
}

TEST_F(TwoSockets, NobodyIsAskedForMoreThanItHas) {
  config.lcores = {0, 1};
  EXPECT_THAT(memory(20), testing::MatchesRegex("--socket-mem 1[0-9][0-9],20"));
  EXPECT_THAT(memory(0), testing::MatchesRegex("--socket-mem 1[0-9][0-9],0"));
}

TEST_F(TwoSockets, WithoutHugepagesThereIsOneMemory) {
  config.lcores = {0, 1};
  config.memory.hugepages = false;
  EXPECT_EQ(memory(), "-m 256");
}

}  // namespace
}  // namespace tributary::dataplane
