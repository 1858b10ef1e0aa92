// Pods from their creation to nothing left, over lost nodes (C2). Time is set by the tests.
#include "manager/pods/pod_book.h"

#include <gmock/gmock.h>

#include "tests/manager/pods/nodes.h"
#include "tests/manager/pods/pod_text.h"

namespace tributary::manager {
namespace {

using testing::HasSubstr;

std::string npu_pod(const std::string& name, const std::string& spec = "") {
  return cpu_pod(name, spec, "example.com/npu: 1");
}

class Bed {
 public:
  Bed()
      : book({}, [this](const auto& pod, const auto& kind, const auto&) {
          told.push_back(pod + " " + kind);
        }) {}

  void create(const std::string& text) { book.create(parse_manifest(text, "m")); }
  void schedule() {
    book.begin_scheduling();
    while (book.schedule_one({})) {
    }
  }
  // The agent has carried out its work; its pods are in `phase`.
  void report(const std::string& name, PodPhase phase = PodPhase::running) {
    NodeReport report{.figures = node(name, {npu("n0"), npu("n1")}), .instances = {}};
    const auto work = book.work(name);
    report.applied = work.revision;
    for (const PodRecord* record : work.pods)
      report.instances[record->instance()] = {phase, {}, ""};
    book.report(name, std::move(report), now);
  }
  void pass(std::int64_t seconds) {
    now = now + Duration::seconds(seconds);
    book.advance(now);
  }
  const PodRecord& pod(const std::string& name) { return book.pods().at(name); }

  std::vector<std::string> told;
  Instant now = Instant::from_ns(1);
  PodBook book;
};

TEST(PodBook, C2_APodIsPlacedRunsAndIsDeleted) {
  Bed bed;
  bed.create(npu_pod("a"));
  bed.schedule();
  EXPECT_EQ(bed.pod("a").reason, "Unschedulable");
  EXPECT_EQ(bed.pod("a").message, "0/0 nodes are available");
  bed.report("x");
  bed.schedule();
  EXPECT_EQ(bed.pod("a").node, "x");
  EXPECT_EQ(bed.pod("a").devices, std::vector<std::string>{"n0"});
  EXPECT_EQ(bed.pod("a").phase, PodPhase::pending);
  bed.report("x");
  EXPECT_EQ(bed.pod("a").phase, PodPhase::running);
  EXPECT_TRUE(bed.book.remove("a"));
  EXPECT_TRUE(bed.book.pods().contains("a"));
  EXPECT_TRUE(bed.book.work("x").pods.empty());
  bed.report("x");
  EXPECT_TRUE(bed.book.pods().empty());
  EXPECT_FALSE(bed.book.remove("a"));
}

TEST(PodBook, ARecordStaysUntilItsNodeHasCarriedOutTheDeletion) {
  Bed bed;
  bed.report("x");
  bed.create(npu_pod("a"));
  bed.schedule();
  const std::uint64_t before = bed.book.work("x").revision;
  bed.book.remove("a");
  // The agent may still be starting it.
  bed.book.report("x", {.figures = node("x", {npu("n0")}), .applied = before, .instances = {}},
                  bed.now);
  EXPECT_TRUE(bed.book.pods().contains("a"));
  EXPECT_EQ(bed.book.nodes_in_use()[0].devices[0].claimed_by, "a");
}

TEST(PodBook, NoDeviceIsGivenTwice) {
  Bed bed;
  bed.report("x");
  for (const char* name : {"a", "b", "c"}) bed.create(npu_pod(name));
  bed.schedule();
  EXPECT_NE(bed.pod("a").devices, bed.pod("b").devices);
  EXPECT_EQ(bed.pod("c").node, "");
  EXPECT_THAT(bed.pod("c").message, HasSubstr("1 with example.com/npu in use"));
  bed.report("x", PodPhase::succeeded);
  bed.schedule();
  EXPECT_EQ(bed.pod("c").node, "x");
}

TEST(PodBook, C2_PodsOfALostNodeAreMarkedAndPlacedAgainWhereTheirPolicySaysSo) {
  Bed bed;
  bed.report("x");
  bed.create(npu_pod("again"));
  bed.create(npu_pod("once", "restartPolicy: Never, "));
  bed.schedule();
  bed.report("x");
  const std::string first = bed.pod("again").instance();
  bed.pass(39);
  EXPECT_EQ(bed.pod("again").node, "x");
  bed.report("y");
  bed.pass(2);
  EXPECT_EQ(bed.pod("once").phase, PodPhase::failed);
  EXPECT_EQ(bed.pod("once").reason, "NodeLost");
  EXPECT_EQ(bed.pod("again").phase, PodPhase::pending);
  bed.schedule();
  EXPECT_EQ(bed.pod("again").node, "y");
  EXPECT_NE(bed.pod("again").instance(), first);
  // The node comes back with the old container: it is no work of it any more.
  bed.report("x");
  EXPECT_TRUE(bed.book.work("x").pods.empty());
  EXPECT_EQ(bed.pod("again").node, "y");
}

TEST(PodBook, ALostNodeGivesUpWhatIsBeingDeleted) {
  Bed bed;
  bed.report("x");
  bed.create(npu_pod("a"));
  bed.schedule();
  bed.book.remove("a");
  bed.pass(41);
  EXPECT_TRUE(bed.book.pods().empty());
}

TEST(PodBook, AGangWaitsForItsPodsAndIsPlacedAtOnce) {
  Bed bed;
  bed.report("x");
  bed.create(kGroupText);
  const std::string member = "schedulingGroup: {podGroupName: train}, ";
  for (const char* name : {"a", "b", "c"}) bed.create(npu_pod(name, member));
  bed.schedule();
  EXPECT_EQ(bed.pod("a").message, "the group needs 4 pods, and has 3 that wait");
  bed.create(npu_pod("d", member));
  bed.schedule();
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_EQ(bed.pod(name).node, "") << name;
  NodeReport large{.figures = node("y", {npu("0"), npu("1"), npu("2"), npu("3")}), .instances = {}};
  bed.book.report("y", std::move(large), bed.now);
  bed.schedule();
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_EQ(bed.pod(name).node, "y") << name;
  EXPECT_THROW(bed.book.remove_group("train"), std::invalid_argument);
}

TEST(PodBook, WhatIsThereOrNamesNoGroupIsRefusedWhole) {
  Bed bed;
  bed.create(npu_pod("a"));
  EXPECT_THROW(bed.create("---\n" + npu_pod("b") + "---\n" + npu_pod("a")), PodBook::AlreadyThere);
  EXPECT_FALSE(bed.book.pods().contains("b"));
  EXPECT_THROW(bed.create(npu_pod("b", "schedulingGroup: {podGroupName: none}, ")),
               std::invalid_argument);
}

TEST(PodBook, C2_APodThatIsIdleForItsTimeIsRemovedWithItsRecord) {
  Bed bed;
  bed.report("x");
  std::string text = npu_pod("a");
  text.replace(text.find("name: a"), 7, "name: a, annotations: {tributary/idle-seconds: \"60\"}");
  bed.create(text);
  bed.create(npu_pod("b"));
  bed.schedule();
  bed.report("x");
  const auto report_idle = [&](std::int64_t seconds) {
    NodeReport report{.figures = node("x", {npu("n0"), npu("n1")}), .instances = {}};
    const auto work = bed.book.work("x");
    report.applied = work.revision;
    for (const PodRecord* record : work.pods)
      report.instances[record->instance()] = {
          PodPhase::running, {}, "", Duration::seconds(seconds)};
    bed.book.report("x", std::move(report), bed.now);
  };
  report_idle(59);
  EXPECT_FALSE(bed.pod("a").deleting);
  report_idle(60);
  EXPECT_TRUE(bed.pod("a").deleting);
  EXPECT_FALSE(bed.pod("b").deleting) << "it may be idle for ever";
  report_idle(61);
  EXPECT_FALSE(bed.book.pods().contains("a"));
}

TEST(PodBook, C2_FinishedPodsAndTheirGroupGoWhenTheirTimeIsOver) {
  Bed bed;
  bed.report("x");
  std::string group = kGroupText;
  bed.create(group.replace(group.find("minCount: 4"), 11, "minCount: 2"));
  for (const char* name : {"a", "b"}) {
    std::string text =
        npu_pod(name, "restartPolicy: Never, schedulingGroup: {podGroupName: train}, ");
    text.replace(text.find("name: "), 7,
                 std::string("name: ") + name +
                     ", annotations: {tributary/ttl-seconds-after-finished: \"5\"}");
    bed.create(text);
  }
  bed.schedule();
  bed.report("x", PodPhase::succeeded);
  bed.pass(1);
  bed.report("x");
  bed.pass(4);
  EXPECT_FALSE(bed.pod("a").deleting);
  bed.report("x");
  bed.pass(1);
  EXPECT_TRUE(bed.pod("a").deleting);
  EXPECT_TRUE(bed.book.groups().contains("train"));
  bed.report("x");
  EXPECT_TRUE(bed.book.pods().empty());
  EXPECT_TRUE(bed.book.groups().empty()) << "it is empty, and its pods went by themselves";
}

TEST(PodBook, EachDecisionIsToldOnce) {
  Bed bed;
  bed.create(npu_pod("a"));
  bed.schedule();
  bed.schedule();
  bed.report("x");
  bed.schedule();
  EXPECT_THAT(bed.told,
              testing::ElementsAre("a created", "a unschedulable", " node", "a scheduled"));
}

}  // namespace
}  // namespace tributary::manager
