// CPU time of control groups of both versions becomes load, and its absence idleness (C2).
#include "tools/agentd/pods/container_load.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/agentd/pods/fake_runtime.h"
#include "tests/database/scratch.h"

namespace tributary::agentd {
namespace {

Instant at(double seconds) {
  return Instant::from_ns(static_cast<std::int64_t>(seconds * 1e9));
}

struct Machine {
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  [[nodiscard]] std::optional<Duration> time() const {
    return cpu_time_of(7, root / "proc", root / "groups");
  }

  database::Scratch scratch;
  std::filesystem::path root = scratch.file() + ".machine";
};

TEST(ContainerLoad, CpuTimeIsThatOfTheProcessesGroup) {
  const Machine machine;
  EXPECT_FALSE(machine.time()) << "no such process";
  machine.write("proc/7/cgroup", "5:pids:/p\n4:cpu,cpuacct:/a/b\n0::/c\n");
  EXPECT_FALSE(machine.time()) << "not accounted";
  machine.write("groups/c/cpu.stat", "nr_periods 3\nusage_usec 25\nuser_usec 20\n");
  EXPECT_EQ(machine.time(), Duration::ns(25'000));
  machine.write("groups/cpu,cpuacct/a/b/cpuacct.usage", "1234\n");
  EXPECT_EQ(machine.time(), Duration::ns(1234));
}

TEST(ContainerLoad, C2_LoadIsCpuTimeOverTime) {
  Duration used;
  ContainerLoad load([&](int) { return std::optional(used); });
  EXPECT_FALSE(load.cpu("a", 1, at(0)));
  used = Duration::ms(500);
  EXPECT_DOUBLE_EQ(load.cpu("a", 1, at(1)).value(), 0.5);
  used = Duration::ms(4500);
  EXPECT_DOUBLE_EQ(load.cpu("a", 1, at(3)).value(), 2);
  // The container has started anew.
  used = Duration::ms(1);
  EXPECT_DOUBLE_EQ(load.cpu("a", 1, at(4)).value(), 0);
}

TEST(ContainerLoad, C2_APodIsIdleWhileNothingIsDone) {
  ContainerLoad load([](int) { return std::optional<Duration>(); });
  EXPECT_FALSE(load.cpu("a", 1, at(0)));
  EXPECT_EQ(load.idle("1.1", 0.001, at(10)), Duration{});
  EXPECT_EQ(load.idle("1.1", 0.009, at(15)), Duration::seconds(5));
  EXPECT_EQ(load.idle("1.1", 0.01, at(20)), Duration{});
  EXPECT_EQ(load.idle("1.1", 0, at(21)), Duration{});
  EXPECT_EQ(load.idle("1.1", std::nullopt, at(25)), Duration{}) << "what is not known is busy";
}

TEST(ContainerLoad, C2_ABusyContainerOrDeviceKeepsItsPodFromBeingIdle) {
  Duration used;
  ContainerLoad load([&](int) { return std::optional(used); });
  WantedPod wanted = wanted_pod("a", "1.1");
  wanted.devices = {"n0"};
  const Work work{1, {wanted}};
  std::map<std::string, double> devices = {{"n0", 0}};
  const auto turn = [&](double seconds) {
    Reconciler::Result result;
    result.instances["1.1"].containers = {{"main", "running", 0, 0, ""}};
    result.containers = {{"id", "1.1", "main", "running", 0, 7}};
    measure(load, work, devices, at(seconds), result);
    return result.instances["1.1"];
  };
  EXPECT_EQ(turn(0).idle, Duration{});
  turn(1);
  EXPECT_EQ(turn(3).idle, Duration::seconds(2));
  EXPECT_DOUBLE_EQ(turn(4).containers[0].cpu.value(), 0);
  used = Duration::ms(100);
  EXPECT_EQ(turn(5).idle, Duration{});
  turn(6);
  EXPECT_EQ(turn(7).idle, Duration::seconds(1));
  devices["n0"] = 0.5;
  EXPECT_EQ(turn(8).idle, Duration{});
  devices["n0"] = 0;
  turn(9);
  EXPECT_EQ(turn(10).idle, Duration::seconds(1));
}

TEST(ContainerLoad, WhatIsGoneIsForgotten) {
  ContainerLoad load([](int) { return std::optional(Duration{}); });
  load.idle("1.1", 0, at(0));
  load.end_turn();
  EXPECT_EQ(load.idle("1.1", 0, at(1)), Duration::seconds(1));
  load.end_turn();
  load.end_turn();
  EXPECT_EQ(load.idle("1.1", 0, at(2)), Duration{});
}

}  // namespace
}  // namespace tributary::agentd
