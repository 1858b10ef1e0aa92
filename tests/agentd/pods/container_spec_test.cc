#include "tools/agentd/pods/container_spec.h"

#include <gtest/gtest.h>

#include "tests/agentd/pods/fake_runtime.h"

namespace tributary::agentd {
namespace {

SpecSettings settings() {
  return {.node = "x",
          .roots = "/roots",
          .devices = {{"n0", "a.b/npu"}, {"n1", "a.b/npu"}, {"n2", "a.b/npu"}, {"g0", "a.b/gpu"}}};
}

TEST(ContainerSpec, C2_LimitsLabelsAndRoot) {
  WantedPod wanted = wanted_pod("a", "1.1");
  auto& container = wanted.pod.spec.containers[0];
  container.resources.limits = {{"cpu", "500m"}, {"memory", "64Mi"}};
  container.env = {{"A", "1"}};
  container.args = {"6"};
  const auto spec = container_spec(wanted, 0, settings());
  EXPECT_EQ(spec["name"], "tributary-a-main-1.1");
  EXPECT_EQ(spec["rootfs"], "/roots/busybox");
  EXPECT_EQ(spec["rootfs_overlay"], true);
  EXPECT_EQ(spec["command"], nlohmann::json({"sleep", "5", "6"}));
  EXPECT_EQ(spec["env"]["A"], "1");
  EXPECT_EQ(spec["resource_limits"]["cpu"]["quota"], 50'000);
  EXPECT_EQ(spec["resource_limits"]["memory"]["limit"], 64 << 20);
  EXPECT_EQ(spec["resource_limits"]["pids"]["limit"], 1024);
  EXPECT_EQ(spec["labels"][kNodeLabel], "x");
  EXPECT_EQ(spec["netns"]["nsmode"], "none");
  EXPECT_EQ(spec["no_new_privileges"], true);
  EXPECT_FALSE(spec.contains("privileged"));
}

TEST(ContainerSpec, C2_ContainersShareThePodsDevicesByKind) {
  WantedPod wanted = wanted_pod("a", "1.1");
  wanted.devices = {"g0", "n0", "n1", "n2"};
  wanted.pod.spec.containers.push_back(wanted.pod.spec.containers[0]);
  wanted.pod.spec.containers[0].resources.limits = {{"a.b/npu", "1"}};
  wanted.pod.spec.containers[1].resources.limits = {{"a.b/gpu", "1"}, {"a.b/npu", "2"}};
  EXPECT_EQ(container_spec(wanted, 0, settings())["devices"],
            nlohmann::json::parse(R"([{"path": "a.b/npu=x.n0"}])"));
  EXPECT_EQ(container_spec(wanted, 1, settings())["env"]["TRIBUTARY_DEVICES"], "g0,n1,n2");
}

TEST(ContainerSpec, C2_TheFirstContainerOfASeatIsARankAtItsPort) {
  WantedPod wanted = wanted_pod("a", "1.1");
  wanted.pod.spec.containers.push_back(wanted.pod.spec.containers[0]);
  wanted.pod.spec.containers[0].env = {{"RANK", "7"}, {"A", "1"}};
  wanted.seat = manager::Seat{.job = "train",
                              .id = 65538,
                              .rank = 2,
                              .size = 4,
                              .local_rank = 0,
                              .local_size = 2,
                              .port = "b0",
                              .address = "memif:///run/ports/b0/memif?id=3&switch=10.77.0.202"};
  const auto spec = container_spec(wanted, 0, settings());
  EXPECT_EQ(spec["env"]["TRIBUTARY_JOB"], "65538");
  EXPECT_EQ(spec["env"]["TRIBUTARY_ADDRESS"],
            "memif:///run/tributary/port/memif?id=3&switch=10.77.0.202");
  EXPECT_EQ(spec["env"]["RANK"], "2") << "not what the manifest says";
  EXPECT_EQ(spec["env"]["WORLD_SIZE"], "4");
  EXPECT_EQ(spec["env"]["LOCAL_RANK"], "0");
  EXPECT_EQ(spec["env"]["LOCAL_WORLD_SIZE"], "2");
  EXPECT_EQ(spec["env"]["A"], "1");
  ASSERT_EQ(spec["mounts"].size(), 1u);
  EXPECT_EQ(spec["mounts"][0]["source"], "/run/ports/b0");
  EXPECT_EQ(spec["mounts"][0]["options"][1], "ro");
  const auto other = container_spec(wanted, 1, settings());
  EXPECT_FALSE(other.contains("mounts"));
  EXPECT_FALSE(other["env"].contains("TRIBUTARY_JOB"));
}

TEST(ContainerSpec, APortThatIsNoMemifIsRefused) {
  WantedPod wanted = wanted_pod("a", "1.1");
  for (const char* address : {"udp://10.77.0.202", "memif://", "memif:///memif?id=0", ""}) {
    wanted.seat = manager::Seat{.job = "train", .port = "b0", .address = address};
    EXPECT_THROW(container_spec(wanted, 0, settings()), std::invalid_argument) << address;
  }
}

TEST(ContainerSpec, ADeviceThatVanishedIsNamed) {
  WantedPod wanted = wanted_pod("a", "1.1");
  wanted.devices = {"gone"};
  EXPECT_THROW(container_spec(wanted, 0, settings()), std::invalid_argument);
}

TEST(ContainerSpec, ImagesAndNetworks) {
  WantedPod wanted = wanted_pod("a", "1.1");
  wanted.pod.spec.containers[0].image = "docker.io/library/busybox:1";
  SpecSettings with = settings();
  with.network = "ns:/run/netns/h0";
  const auto spec = container_spec(wanted, 0, with);
  EXPECT_EQ(spec["image"], "docker.io/library/busybox:1");
  EXPECT_FALSE(spec.contains("rootfs"));
  EXPECT_EQ(spec["netns"]["nsmode"], "path");
  EXPECT_EQ(spec["netns"]["value"], "/run/netns/h0");
}

}  // namespace
}  // namespace tributary::agentd
