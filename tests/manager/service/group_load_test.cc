// What a group's pods use together, by the last reports of their nodes (C2).
#include "manager/service/group_load.h"

#include <gtest/gtest.h>

#include "tests/manager/pods/nodes.h"
#include "tests/manager/pods/pod_text.h"

namespace tributary::manager {
namespace {

constexpr const char* kGroup =
    "apiVersion: scheduling.k8s.io/v1alpha2\n"
    "kind: PodGroup\n"
    "metadata: {name: train}\n"
    "spec: {schedulingPolicy: {gang: {minCount: 2}}}\n";

std::string member(const std::string& name) {
  return "---\n" + cpu_pod(name, "schedulingGroup: {podGroupName: train}, ", "example.com/npu: 1");
}

class Bed {
 public:
  Bed() : book({}, [](const auto&, const auto&, const auto&) {}) {
    report({});
    book.create(
        parse_manifest(kGroup + member("a") + member("b") + "---\n" + cpu_pod("alone"), "m"));
    book.begin_scheduling();
    while (book.schedule_one({})) {
    }
  }
  // The node's report; `cpu`: what the container of each pod uses.
  void report(const std::map<std::string, std::optional<double>>& cpu,
              PodPhase phase = PodPhase::running) {
    NodeReport report{.figures = node("x", {npu("n0", 0.25), npu("n1", 0.75)}), .instances = {}};
    const auto work = book.work("x");
    report.applied = work.revision;
    for (const PodRecord* record : work.pods) {
      ContainerStatus status{"main", "running", 0, 0, ""};
      if (const auto at = cpu.find(record->pod.metadata.name); at != cpu.end())
        status.cpu = at->second;
      report.instances[record->instance()] = {phase, {status}, ""};
    }
    book.report("x", std::move(report), Instant::from_ns(1));
  }

  PodBook book;
};

TEST(GroupLoad, C2_SumsCpusAndTheMeanOfDevices) {
  Bed bed;
  bed.report({{"a", 0.5}, {"b", 1.25}, {"alone", 7.0}});
  const GroupLoad expected{.name = "train",
                           .min_count = 2,
                           .pods = 2,
                           .running = 2,
                           .cpu = 1.75,
                           .devices = 2,
                           .load = 0.5};
  EXPECT_EQ(group_loads(bed.book), std::vector{expected});
}

TEST(GroupLoad, C2_FollowsEachReport) {
  Bed bed;
  bed.report({{"a", 0.5}, {"b", 0.5}});
  EXPECT_EQ(group_loads(bed.book)[0].cpu, 1.0);
  bed.report({{"a", 0.25}, {"b", 0.5}});
  EXPECT_EQ(group_loads(bed.book)[0].cpu, 0.75);
}

TEST(GroupLoad, IsUnknownWhileAContainerIs) {
  Bed bed;
  bed.report({{"a", 0.5}, {"b", std::nullopt}});
  EXPECT_EQ(group_loads(bed.book)[0].cpu, std::nullopt);
  EXPECT_EQ(group_loads(bed.book)[0].running, 2u);
}

TEST(GroupLoad, OfPodsThatHaveEndedIsNothing) {
  Bed bed;
  bed.report({{"a", 0.5}, {"b", 0.5}}, PodPhase::succeeded);
  const GroupLoad load = group_loads(bed.book)[0];
  EXPECT_EQ(load.pods, 2u);
  EXPECT_EQ(load.running, 0u);
  EXPECT_EQ(load.cpu, 0.0);
  EXPECT_EQ(load.devices, 0u);
  EXPECT_EQ(load.load, std::nullopt);
}

}  // namespace
}  // namespace tributary::manager
