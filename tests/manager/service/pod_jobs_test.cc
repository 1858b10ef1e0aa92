// Pods and jobs over one store: a place and an admission are one commit, and a manager that follows
// at any instant goes on from both or from neither (C2).
#include "manager/service/pod_jobs.h"

#include <gmock/gmock.h>

#include <memory>

#include "manager/service/cluster.h"
#include "manager/service/pod_cluster.h"
#include "manager/store/sqlite_store.h"
#include "tests/manager/pods/nodes.h"
#include "tests/manager/pods/pod_text.h"
#include "tests/manager/store/scratch.h"
#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using testing::HasSubstr;

// One manager on one store; each new one follows the last.
struct Manager {
  explicit Manager(const std::string& file, std::uint32_t slots = 128)
      : store(file),
        cluster(store, {{{.name = "a"}}, {}, assemble(leased_tree(slots))}, now),
        pods(
            store, {}, [] { return Distances{}; }, now, {},
            [this](const std::function<void(PodJobs&)>& use) { cluster.join(use, now); }) {
    for (const char* name : {"x", "y", "z"}) sessions[name] = pods.attend(name);
  }
  void create(const std::string& name, int count) {
    std::string text = "---\n" + job_group(name, count);
    for (int i = 0; i < count; ++i)
      text += "---\n" +
              cpu_pod(name + std::to_string(i),
                      "restartPolicy: Never, schedulingGroup: {podGroupName: " + name + "}, ");
    pods.create(parse_manifest(text, "m"), now);
  }
  // All nodes report; pods that may run are in `phase`.
  void report(PodPhase phase = PodPhase::running) {
    const auto& workers = cluster.look(
        [](const Cluster::View& view) { return view.service.admission().topology().workers; });
    for (const auto& [name, session] : sessions) {
      NodeReport report{.figures = node(name, {}, name == "z" ? "B" : "A"), .instances = {}};
      for (const auto& worker : workers)
        if (worker.node == name)
          report.figures.devices.push_back({.name = kPortPrefix + worker.name, .kind = kPortKind});
      pods.look([&](const PodCluster::View& view) {
        const auto work = view.book.work(name);
        report.applied = work.revision;
        for (const PodRecord* record : work.pods)
          report.instances[record->instance()] = {phase, {}, ""};
      });
      pods.report(name, session, std::move(report), now);
    }
  }
  // Every switch has what the manager wants of it.
  void obey() {
    for (const char* name : {"root", "A", "B"}) {
      SwitchRegistration made;
      made.name = name;
      made.address = name[0] == 'r' ? "10.0.0.10" : name[0] == 'A' ? "10.0.0.11" : "10.0.0.12";
      made.ports = {"p0", "p1", "p2", "p3", "spare", "up"};
      made.slots = 4096;
      made.bytes = 64u << 20;
      const std::uint64_t session = cluster.attend(made, now);
      SwitchReport report;
      cluster.look([&](const Cluster::View& view) {
        for (const auto& [job, state] : view.service.admission().jobs())
          if (state.admitted() && state.needs.contains(name)) report.jobs[state.id] = 0;
      });
      cluster.report(name, session, report, now);
    }
  }
  void pass() {
    now = now + Duration::seconds(1);
    cluster.advance(now);
    pods.advance(now);
  }
  PodRecord pod(const std::string& name) {
    return pods.look([&](const PodCluster::View& view) { return view.book.pods().at(name); });
  }
  std::size_t jobs() {
    return cluster.look(
        [](const Cluster::View& view) { return view.service.admission().jobs().size(); });
  }

  Instant now = Instant::from_ns(1);
  SqliteStore store;
  Cluster cluster;
  PodCluster pods;
  std::map<std::string, std::uint64_t> sessions;
};

TEST(PodJobs, C2_AJobComesWithItsPodsAndGoesWithThem) {
  const Scratch scratch;
  Manager manager(scratch.file());
  manager.report();
  manager.create("j", 4);
  ASSERT_EQ(manager.jobs(), 1u);
  const std::uint32_t id = manager.cluster.look([](const Cluster::View& view) {
    const Job& job = view.service.admission().jobs().at("j");
    EXPECT_EQ(job.owner, "j");
    EXPECT_EQ(job.placed->members.size(), 4u);
    return job.id;
  });
  const Seat seat = manager.pod("j0").seat.value();
  EXPECT_EQ(seat.id, id);
  EXPECT_THAT(seat.address, HasSubstr("/memif?id=0&switch=10.0.0.1"));
  EXPECT_EQ(manager.store.list("claims/").size(), 4u);
  EXPECT_THROW(manager.cluster.cancel("j", manager.now, "asked"), std::invalid_argument);
  manager.obey();
  manager.pass();
  EXPECT_TRUE(manager.pod("j0").seat->started);
  manager.report();
  EXPECT_EQ(manager.pod("j3").phase, PodPhase::running);
  manager.report(PodPhase::succeeded);
  manager.pass();
  EXPECT_EQ(manager.jobs(), 0u);
  EXPECT_TRUE(manager.store.list("claims/").empty());
  EXPECT_TRUE(manager.store.list("jobs/").empty());
}

// The operator removes pods and group at once, and the manager may be killed in between.
TEST(PodJobs, C2_AJobDoesNotOutliveItsGroup) {
  for (const bool killed : {false, true}) {
    const Scratch scratch;
    auto manager = std::make_unique<Manager>(scratch.file());
    manager->report();
    manager->create("j", 2);
    manager->obey();
    manager->pass();
    manager->report();
    for (const char* name : {"j0", "j1"}) manager->pods.remove(name, manager->now);
    manager->report();
    ASSERT_TRUE(manager->pods.remove_group("j", manager->now));
    ASSERT_EQ(manager->jobs(), 1u);
    if (killed) {
      manager.reset();
      manager = std::make_unique<Manager>(scratch.file());
    }
    manager->pass();
    EXPECT_EQ(manager->jobs(), 0u) << killed;
  }
}

TEST(PodJobs, C2_WithoutSlotsNeitherIsThere) {
  const Scratch scratch;
  Manager manager(scratch.file(), 64);
  manager.report();
  manager.create("first", 4);
  EXPECT_EQ(manager.jobs(), 1u);
  manager.create("second", 1);
  EXPECT_EQ(manager.jobs(), 1u);
  EXPECT_EQ(manager.pod("second0").node, "");
  EXPECT_THAT(manager.pod("second0").message, HasSubstr("job second: needs 64 slots at "));
  EXPECT_EQ(manager.store.list("claims/").size(), 4u);
}

TEST(PodJobs, C2_AFencedManagerPlacesNeither) {
  const Scratch scratch;
  Manager old(scratch.file());
  old.report();
  delete_lock(scratch.file());
  SqliteStore next(scratch.file());
  EXPECT_THROW(old.create("j", 2), StoreError);
  EXPECT_EQ(old.jobs(), 0u);
  EXPECT_TRUE(next.list("jobs/").empty());
  EXPECT_TRUE(next.list("claims/").empty());
}

TEST(PodJobs, C2_TheNextManagerKnowsAsMuch) {
  const Scratch scratch;
  std::string instance;
  std::uint32_t id = 0;
  {
    Manager manager(scratch.file());
    manager.report();
    manager.create("j", 2);
    manager.obey();
    manager.pass();
    instance = manager.pod("j0").instance();
    id = manager.pod("j0").seat->id;
  }
  Manager next(scratch.file());
  next.pass();
  EXPECT_EQ(next.jobs(), 1u);
  EXPECT_EQ(next.pod("j0").instance(), instance);
  EXPECT_EQ(next.pod("j0").seat->id, id);
  next.report();
  // Its switches have not reported, and what runs, runs on.
  EXPECT_EQ(next.pod("j0").phase, PodPhase::running);
}

TEST(PodJobs, C2_WhatWasDoneByHalvesIsDoneByTheNextManager) {
  const Scratch scratch;
  {
    Manager manager(scratch.file());
    manager.report();
    manager.create("j", 2);
    manager.obey();
    manager.pass();
    manager.report(PodPhase::succeeded);
    EXPECT_EQ(manager.jobs(), 1u) << "killed before the job was ended";
  }
  Manager next(scratch.file());
  EXPECT_EQ(next.jobs(), 1u);
  next.pass();
  EXPECT_EQ(next.jobs(), 0u);
}

TEST(PodJobs, C2_ASwitchThatRefusesTheJobSendsThePodsBack) {
  const Scratch scratch;
  Manager manager(scratch.file());
  manager.report();
  manager.create("j", 2);
  const std::string first = manager.pod("j0").instance();
  const std::string node = manager.pod("j0").node == "z" ? "B" : "A";
  manager.obey();
  SwitchRegistration made;
  made.name = node;
  made.address = node == "A" ? "10.0.0.11" : "10.0.0.12";
  made.ports = {"p0", "p1", "p2", "p3", "spare", "up"};
  made.slots = 4096;
  made.bytes = 64u << 20;
  const std::uint64_t session = manager.cluster.attend(made, manager.now);
  SwitchReport report;
  report.refused = true;
  report.problem = "no memory";
  report.refused_revision = manager.cluster.look(
      [](const Cluster::View& view) { return view.service.version().revision; });
  manager.cluster.report(node, session, report, manager.now);
  manager.pass();
  EXPECT_NE(manager.pod("j0").instance(), first);
  manager.pass();
  const PodRecord again = manager.pod("j0");
  EXPECT_NE(again.node, "");
  EXPECT_EQ(again.node == "z" ? "B" : "A", node == "A" ? "B" : "A") << "where there is room";
}

}  // namespace
}  // namespace tributary::manager
