// The node's containers follow the manager's work (C2). Time is set by the tests.
#include "tools/agentd/pods/reconciler.h"

#include <gmock/gmock.h>

#include "tests/agentd/pods/fake_runtime.h"
#include "tools/agentd/pods/container_spec.h"

namespace tributary::agentd {
namespace {

using manager::PodPhase;
using manager::RestartPolicy;
using testing::ElementsAre;
using testing::IsEmpty;

struct Bed {
  Bed()
      : reconciler(runtime, [](const WantedPod& wanted, std::size_t container) {
          return container_spec(wanted, container, {.node = "x", .roots = "/roots", .devices = {}});
        }) {}
  Reconciler::Result step(std::vector<WantedPod> pods) {
    runtime.calls.clear();
    return reconciler.step({7, std::move(pods)}, now);
  }
  void end(const std::string& id, int code) {
    runtime.containers.at(id).state = "exited";
    runtime.containers.at(id).exit_code = code;
  }
  void pass(std::int64_t seconds) { now = now + Duration::seconds(seconds); }

  FakeRuntime runtime;
  Instant now = Instant::from_ns(1);
  Reconciler reconciler;
};
constexpr const char* kMain = "tributary-a-main-1.1";

TEST(Reconciler, C2_AFailedPodIsRemovedAndNotStartedAgain) {
  Bed bed;
  bed.step({wanted_pod("a", "1.1")});
  bed.reconciler.fail("1.1", "it has written too much");
  bed.runtime.refused.insert("remove");
  EXPECT_EQ(bed.step({wanted_pod("a", "1.1")}).instances.at("1.1").phase, PodPhase::running)
      << "its devices are not free yet";
  bed.runtime.refused.clear();
  auto report = bed.step({wanted_pod("a", "1.1")}).instances.at("1.1");
  EXPECT_EQ(report.phase, PodPhase::failed);
  EXPECT_EQ(report.message, "it has written too much");
  EXPECT_EQ(report.containers.at(0).exit_code, 137);
  EXPECT_THAT(bed.runtime.containers, IsEmpty());
  bed.step({wanted_pod("a", "1.1")});
  EXPECT_THAT(bed.runtime.calls, IsEmpty());
  bed.step({wanted_pod("a", "1.2")});
  EXPECT_EQ(bed.runtime.containers.size(), 1u) << "another attempt";
}

TEST(Reconciler, C2_MissingContainersComeAndStraysGo) {
  Bed bed;
  auto result = bed.step({wanted_pod("a", "1.1")});
  EXPECT_THAT(bed.runtime.calls,
              ElementsAre(std::string("create ") + kMain, std::string("start ") + kMain));
  EXPECT_EQ(result.instances.at("1.1").phase, PodPhase::running);
  EXPECT_EQ(result.applied, 7u);
  bed.step({wanted_pod("a", "1.1")});
  EXPECT_THAT(bed.runtime.calls, IsEmpty());
  result = bed.step({});
  EXPECT_THAT(bed.runtime.calls, ElementsAre(std::string("remove ") + kMain));
  EXPECT_TRUE(result.instances.empty());
  EXPECT_EQ(bed.runtime.grace_seconds, 10u);
}

TEST(Reconciler, C2_ANewAgentFindsItsContainersAndFinishesWhatWasBegun) {
  Bed bed;
  bed.runtime.containers["x1"] = {"x1", "1.1", "main", "running", 0};
  bed.runtime.containers["x2"] = {"x2", "2.1", "main", "created", 0};
  const auto result = bed.step({wanted_pod("a", "1.1"), wanted_pod("b", "2.1")});
  EXPECT_THAT(bed.runtime.calls, ElementsAre("start x2"));
  EXPECT_EQ(result.instances.at("1.1").phase, PodPhase::running);
}

TEST(Reconciler, NothingStartsWhileAStrayIsLeft) {
  Bed bed;
  bed.runtime.containers["old"] = {"old", "1.1", "main", "running", 0};
  bed.runtime.refused = {"remove"};
  const auto result = bed.step({wanted_pod("a", "1.2")});
  EXPECT_THAT(bed.runtime.calls, ElementsAre("remove old"));
  EXPECT_EQ(result.applied, 0u);
  EXPECT_TRUE(result.instances.contains("1.1"));
  bed.runtime.refused.clear();
  EXPECT_EQ(bed.step({wanted_pod("a", "1.2")}).applied, 7u);
}

TEST(Reconciler, PodsEndAsTheirPolicySays) {
  for (const auto& [policy, code, phase] :
       {std::tuple{RestartPolicy::never, 0, PodPhase::succeeded},
        std::tuple{RestartPolicy::never, 3, PodPhase::failed},
        std::tuple{RestartPolicy::on_failure, 0, PodPhase::succeeded},
        std::tuple{RestartPolicy::on_failure, 3, PodPhase::running},
        std::tuple{RestartPolicy::always, 0, PodPhase::running}}) {
    Bed bed;
    bed.step({wanted_pod("a", "1.1", policy)});
    bed.end(kMain, code);
    const auto report = bed.step({wanted_pod("a", "1.1", policy)}).instances.at("1.1");
    EXPECT_EQ(report.phase, phase) << static_cast<int>(policy) << " " << code;
    EXPECT_EQ(report.containers[0].exit_code, code);
    EXPECT_THAT(bed.runtime.calls, IsEmpty());
  }
}

TEST(Reconciler, RestartsWaitTwiceAsLongEachTime) {
  Bed bed;
  bed.step({wanted_pod("a", "1.1")});
  for (const std::int64_t wait : {1, 2, 4}) {
    bed.end(kMain, 1);
    bed.step({wanted_pod("a", "1.1")});
    bed.pass(wait - 1);
    bed.step({wanted_pod("a", "1.1")});
    EXPECT_THAT(bed.runtime.calls, IsEmpty()) << wait;
    bed.pass(1);
    bed.step({wanted_pod("a", "1.1")});
    EXPECT_THAT(bed.runtime.calls, ElementsAre(std::string("start ") + kMain)) << wait;
  }
  EXPECT_EQ(bed.step({wanted_pod("a", "1.1")}).instances.at("1.1").containers[0].restarts, 3u);
}

TEST(Reconciler, AFinishedPodKeepsItsContainers) {
  Bed bed;
  bed.step({wanted_pod("a", "1.1")});
  bed.end(kMain, 0);
  WantedPod finished = wanted_pod("a", "1.1");
  finished.finished = true;
  bed.pass(100);
  bed.step({finished});
  EXPECT_THAT(bed.runtime.calls, IsEmpty());
}

TEST(Reconciler, WhatPodmanRefusesIsSaidAndTriedAgainLater) {
  Bed bed;
  bed.runtime.refused = {"create"};
  auto result = bed.step({wanted_pod("a", "1.1")});
  EXPECT_EQ(result.instances.at("1.1").phase, PodPhase::pending);
  EXPECT_EQ(result.instances.at("1.1").message, "main: no such image");
  bed.runtime.refused.clear();
  bed.step({wanted_pod("a", "1.1")});
  EXPECT_THAT(bed.runtime.calls, IsEmpty());
  bed.pass(2);
  result = bed.step({wanted_pod("a", "1.1")});
  EXPECT_EQ(result.instances.at("1.1").phase, PodPhase::running);
  EXPECT_EQ(result.instances.at("1.1").message, "");
}

TEST(Reconciler, ARuntimeThatIsAwayIsAProblemAndNoState) {
  Bed bed;
  bed.runtime.away = true;
  const auto result = bed.step({wanted_pod("a", "1.1")});
  EXPECT_EQ(result.problem, "podman does not answer");
  EXPECT_EQ(result.applied, 0u);
}

TEST(Reconciler, AllContainersEndWithTheLeaseThoseThatRunFirst) {
  Bed bed;
  for (const auto& [id, state] : {std::pair{"a", "exited"}, std::pair{"b", "created"},
                                  std::pair{"c", "running"}, std::pair{"d", "initialized"}})
    bed.runtime.containers[id] = {id, "1.1", id, state, 0};
  EXPECT_EQ(bed.reconciler.end_all(), 0u);
  EXPECT_THAT(bed.runtime.calls, ElementsAre("remove c", "remove d", "reclaim a", "remove a",
                                             "reclaim b", "remove b"));
  EXPECT_TRUE(bed.runtime.containers.empty());
}

// podman was killed while it started the container, or removed it.
TEST(Reconciler, C2_AContainerThatPodmanLeftHalfDoneIsMadeAnew) {
  for (const std::string state : {"initialized", "removing"}) {
    Bed bed;
    bed.runtime.containers["x"] = {"x", "1.1", "main", state, 0};
    const auto result = bed.step({wanted_pod("a", "1.1")});
    EXPECT_EQ(bed.runtime.containers.size(), 1u) << state;
    EXPECT_EQ(bed.runtime.containers[kMain].state, "running") << state;
    EXPECT_EQ(result.instances.at("1.1").phase, PodPhase::running) << state;
  }
}

TEST(Reconciler, C2_AContainerThatCannotBeStartedIsMadeAnewTheNextTime) {
  Bed bed;
  bed.runtime.containers["x"] = {"x", "1.1", "main", "exited", 1};
  bed.step({wanted_pod("a", "1.1")});
  bed.pass(1);
  bed.runtime.refused = {"start"};
  bed.step({wanted_pod("a", "1.1")});
  EXPECT_THAT(bed.runtime.calls, ElementsAre("start x"));
  bed.runtime.refused.clear();
  bed.pass(60);
  bed.step({wanted_pod("a", "1.1")});
  const std::string name = kMain;
  EXPECT_THAT(bed.runtime.calls,
              ElementsAre("reclaim x", "remove x", "create " + name, "start " + name));
}

// One whose start was given up, and that runs after all.
TEST(Reconciler, AContainerThatRunsIsKeptWhateverItsStartSaid) {
  Bed bed;
  bed.runtime.refused = {"start"};
  bed.step({wanted_pod("a", "1.1")});
  bed.runtime.containers.at(kMain).state = "running";
  bed.pass(60);
  const auto result = bed.step({wanted_pod("a", "1.1")});
  EXPECT_THAT(bed.runtime.calls, IsEmpty());
  EXPECT_EQ(result.instances.at("1.1").message, "");
}

TEST(Reconciler, C2_AStrayThatDoesNotRunMayHaveAProcessThatPodmanDoesNotKnow) {
  Bed bed;
  bed.runtime.containers["x"] = {"x", "1.1", "main", "created", 0};
  bed.step({});
  EXPECT_THAT(bed.runtime.calls, ElementsAre("reclaim x", "remove x"));
}

TEST(Reconciler, C2_ANameThatAKilledRuntimeKeptIsFreed) {
  Bed bed;
  bed.runtime.kept_names = {kMain};
  const auto result = bed.step({wanted_pod("a", "1.1")});
  const std::string name = kMain;
  EXPECT_THAT(bed.runtime.calls,
              ElementsAre("create " + name, "remove " + name, "create " + name, "start " + name));
  EXPECT_EQ(result.instances.at("1.1").phase, PodPhase::running);
}

}  // namespace
}  // namespace tributary::agentd
