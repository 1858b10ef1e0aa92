#include "manager/pods/ask.h"

#include <gmock/gmock.h>

#include "tests/manager/pods/pod_text.h"

namespace tributary::manager {
namespace {

Pod pod_of(const TextMap& limits, const TextMap& annotations = {}) {
  Pod pod;
  pod.metadata = {.name = "p", .space = "default", .labels = {}, .annotations = annotations};
  pod.spec.containers.push_back({.name = "c", .image = "rootfs:b", .resources = {limits, {}}});
  return pod;
}

std::vector<std::string> complaints(const Pod& pod) {
  std::vector<std::string> found;
  static_cast<void>(ask_of(pod, [&](const std::string& path, const std::string& message) {
    found.push_back(path + ": " + message);
  }));
  return found;
}

TEST(Ask, C2_ContainersAreAddedUp) {
  Pod pod = parse_manifest(kPodText, "m").pods[0];
  pod.spec.containers.push_back(
      {.name = "d", .image = "rootfs:b", .resources = {{{"cpu", "1"}}, {{"cpu", "250m"}}}});
  const Ask ask = ask_of(pod);
  EXPECT_EQ(ask.cpu_millis, 750u);
  EXPECT_EQ(ask.memory_bytes, 64u << 20);
  EXPECT_EQ(ask.devices.at("example.com/npu"), 2u);
  EXPECT_EQ(ask.device_memory, 8ull << 30);
  EXPECT_EQ(ask.threshold("example.com/npu", 0.9), 0.5);
}

TEST(Ask, C2_CpusAreForPodsThatAskForThem) {
  EXPECT_THAT(complaints(pod_of({{"memory", "1Gi"}})),
              testing::ElementsAre(testing::HasSubstr("ask for no device")));
  EXPECT_TRUE(complaints(pod_of({{"cpu", "1"}})).empty());
  EXPECT_TRUE(complaints(pod_of({{"example.com/npu", "1"}})).empty());
}

TEST(Ask, ThresholdsMayBeOfOneKind) {
  const Ask ask = ask_of(pod_of({{"a.b/gpu", "1"}}, {{kLoadBelowAnnotation, "0.5,a.b/npu=0.25"}}));
  EXPECT_EQ(ask.threshold("a.b/npu", 0.9), 0.25);
  EXPECT_EQ(ask.threshold("a.b/gpu", 0.9), 0.5);
  EXPECT_EQ(ask_of(pod_of({{"a.b/gpu", "1"}})).threshold("a.b/gpu", 0.9), 0.9);
}

TEST(Ask, ADeviceMayComeWithItsNode) {
  const Ask ask = ask_of(pod_of({{"a.b/gpu", "1"}}, {{kDeviceAnnotation, "host/gpu0"}}));
  EXPECT_EQ(ask.node, "host");
  EXPECT_EQ(ask.device, "gpu0");
  Pod pod = pod_of({{"a.b/gpu", "1"}}, {{kDeviceAnnotation, "host/gpu0"}});
  pod.spec.node_name = "other";
  EXPECT_THAT(
      complaints(pod),
      testing::ElementsAre(testing::HasSubstr("names node host, and spec.nodeName is other")));
}

TEST(Ask, MistakesHavePaths) {
  const auto one = [](const TextMap& limits, const TextMap& annotations = {}) {
    const auto found = complaints(pod_of(limits, annotations));
    return found.empty() ? "none" : found[0];
  };
  EXPECT_EQ(one({{"cpu", "1"}, {"disk", "1"}}),
            "spec.containers[0].resources.limits.disk: is no resource; allowed: cpu, memory, "
            "ephemeral-storage, and kinds of devices as vendor/kind");
  EXPECT_THAT(one({{"a.b/gpu", "1.5"}}),
              testing::HasSubstr("limits.a.b/gpu: '1.5' is not a number"));
  EXPECT_THAT(one({{"cpu", "1"}}, {{"tributary/devise", "x"}}), testing::HasSubstr("is unknown"));
  EXPECT_THAT(one({{"cpu", "1"}}, {{kLoadBelowAnnotation, "1.5"}}), testing::HasSubstr("no share"));
  EXPECT_THAT(one({{"cpu", "1"}}, {{kLoadBelowAnnotation, ""}}), testing::HasSubstr("no share"));
  EXPECT_THAT(one({{"cpu", "1"}}, {{kPackingAnnotation, "x"}}), testing::HasSubstr("pack, spread"));
  EXPECT_THAT(one({{"cpu", "1"}}, {{kDeviceMemoryAnnotation, "1Gi"}}),
              testing::HasSubstr("asks for none"));
  EXPECT_EQ(one({{"cpu", "1"}}, {{"example.org/note", "mine"}}), "none");
}

TEST(Ask, C2_SecondsAreANumber) {
  Pod pod = parse_manifest(cpu_pod("a"), "m").pods[0];
  EXPECT_EQ(ask_of(pod).idle_after_s, 0u);
  EXPECT_FALSE(ask_of(pod).ttl_s);
  pod.metadata.annotations = {{kIdleAnnotation, "60"}, {kTtlAnnotation, "0"}};
  EXPECT_EQ(ask_of(pod).idle_after_s, 60u);
  EXPECT_EQ(ask_of(pod).ttl_s, 0u);
  for (const char* bad : {"", "0", "-1", "1m", "99999999999"}) {
    pod.metadata.annotations = {{kIdleAnnotation, bad}};
    std::string complaint;
    static_cast<void>(ask_of(
        pod, [&](const auto& path, const auto& message) { complaint = path + ": " + message; }));
    EXPECT_EQ(complaint, "metadata.annotations.tributary/idle-seconds: '" + std::string(bad) +
                             "' is no number of seconds; allowed: 1 to 2678400");
  }
}

}  // namespace
}  // namespace tributary::manager
