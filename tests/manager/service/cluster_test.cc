// The manager at work: what switches report decides when a job runs, and a job whose switch has no
// room waits again (T20).
#include "manager/service/cluster.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "manager/store/sqlite_store.h"
#include "tests/manager/store/scratch.h"
#include "tests/manager/tree.h"
#include "tests/manager/two_ways.h"

namespace tributary::manager {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::string request(const std::string& name, int workers, const std::string& more = "") {
  return "tenant: a\n" + more + "job:\n  name: " + name +
         "\n  workers: " + std::to_string(workers) + "\n";
}

struct Bed {
  explicit Bed(std::uint32_t slots = 128, const std::string& file = "")
      : store(file.empty() ? scratch.file() : file), cluster(store, setup(slots), {}) {}
  static Service::Setup setup(std::uint32_t slots) {
    Inventory inventory = two_level_tree();
    for (auto& sw : inventory.switches) sw.slots = slots;
    return {{{.name = "a"}}, {}, assemble(inventory)};
  }
  static SwitchRegistration registration(const std::string& name) {
    SwitchRegistration made;
    made.name = name;
    made.address = name == "root" ? "10.0.0.10" : name == "A" ? "10.0.0.11" : "10.0.0.12";
    made.ports = {"p0", "p1", "p2", "p3", "spare", "up"};
    made.slots = 4096;
    made.bytes = 64u << 20;
    return made;
  }
  // The switch has all that the manager wants of it.
  void obey(const std::string& name, std::uint32_t present = 0) {
    if (!sessions.contains(name)) sessions[name] = cluster.attend(registration(name), now);
    SwitchReport report;
    cluster.look([&](const Cluster::View& view) {
      report.applied = view.service.version();
      for (const auto& [job, state] : view.service.admission().jobs())
        if (state.admitted() && state.needs.contains(name)) report.jobs[state.id] = present;
    });
    EXPECT_TRUE(cluster.report(name, sessions[name], report, now));
  }
  Phase phase(const std::string& job) {
    return cluster.look([&](const Cluster::View& view) {
      return phase_of(view.service.admission().jobs().at(job), view.switches);
    });
  }
  std::vector<std::string> kinds() {
    std::vector<std::string> all;
    cluster.look([&](const Cluster::View& view) {
      for (const Event& event : view.events) all.push_back(event.kind);
    });
    return all;
  }

  Scratch scratch;
  SqliteStore store;
  Cluster cluster;
  Instant now;
  std::map<std::string, std::uint64_t> sessions;
};

TEST(ClusterTimed, T20_AJobRunsWhenEachOfItsSwitchesHasIt) {
  Bed bed;
  EXPECT_EQ(bed.cluster.submit(request("all", 5), "f", bed.now).outcome, Outcome::admitted);
  EXPECT_EQ(bed.phase("all"), Phase::starting);
  bed.obey("root");
  bed.obey("A");
  EXPECT_EQ(bed.phase("all"), Phase::starting);
  bed.obey("B");
  EXPECT_EQ(bed.phase("all"), Phase::running);
  EXPECT_THAT(bed.kinds(),
              ElementsAre("queued", "admitted", "switch", "switch", "switch", "running"));
}

TEST(ClusterTimed, AWaiterLearnsOfEachChange) {
  Bed bed;
  std::uint64_t seen = 0;
  bed.cluster.wait_change(seen, std::chrono::milliseconds(0));
  std::uint64_t before = seen;
  bed.cluster.wait_change(seen, std::chrono::milliseconds(0));
  EXPECT_EQ(seen, before);
  std::thread waiter([&] { bed.cluster.wait_change(seen, std::chrono::hours(1)); });
  bed.cluster.submit(request("one", 2), "f", bed.now);
  waiter.join();
  EXPECT_NE(seen, before);
  std::thread last([&] { bed.cluster.wait_change(before = seen, std::chrono::hours(1)); });
  bed.cluster.stop();
  last.join();
}

TEST(ClusterTimed, ASwitchThatIsNotTheOneOfTheTopologyIsRefused) {
  Bed bed;
  auto registration = Bed::registration("A");
  registration.id = 7;
  EXPECT_THROW(bed.cluster.attend(registration, bed.now), std::invalid_argument);
  registration = Bed::registration("A");
  registration.address = "10.0.0.99";
  EXPECT_THROW(bed.cluster.attend(registration, bed.now), std::invalid_argument);
  EXPECT_THROW(bed.cluster.attend(registration, bed.now), std::invalid_argument);
  registration = Bed::registration("A");
  registration.ports = {"p0"};
  EXPECT_THROW(bed.cluster.attend(registration, bed.now), std::invalid_argument);
  registration.name = "C";
  EXPECT_THROW(bed.cluster.attend(registration, bed.now), std::invalid_argument);
  EXPECT_THAT(bed.kinds(), ElementsAre("switch", "switch", "switch", "switch"));  // each once
}

TEST(ClusterTimed, ANewSessionOfASwitchEndsTheOldOne) {
  Bed bed;
  const auto old = bed.cluster.attend(Bed::registration("A"), bed.now);
  const auto next = bed.cluster.attend(Bed::registration("A"), bed.now);
  EXPECT_TRUE(bed.cluster.is_over("A", old));
  EXPECT_FALSE(bed.cluster.report("A", old, {}, bed.now));
  bed.cluster.leave("A", old);
  EXPECT_FALSE(bed.cluster.is_over("A", next));
  EXPECT_TRUE(bed.cluster.report("A", next, {}, bed.now));
}

TEST(ClusterTimed, AJobThatASwitchRefusesWaitsUntilThereIsRoom) {
  Bed bed;
  bed.cluster.submit(request("one", 5), "f", bed.now);
  for (const char* name : {"root", "A", "B"}) bed.obey(name);
  bed.cluster.submit(request("two", 5), "f", bed.now);
  SwitchReport report;
  bed.cluster.look([&](const Cluster::View& view) {
    report.refused_revision = view.service.version().revision;
    report.jobs[view.service.admission().jobs().at("one").id] = 0;
  });
  report.refused = true;
  report.problem = "memory is in pieces";
  EXPECT_TRUE(bed.cluster.report("A", bed.sessions["A"], report, bed.now));
  EXPECT_EQ(bed.phase("one"), Phase::running);
  EXPECT_EQ(bed.phase("two"), Phase::queued);
  bed.cluster.advance(bed.now);
  EXPECT_EQ(bed.phase("two"), Phase::queued);
  // What "one" leaves may be what "two" lacked.
  bed.cluster.cancel("one", bed.now, "asked");
  EXPECT_EQ(bed.phase("two"), Phase::starting);
}

TEST(ClusterTimed, T13_WhoIsLateIsToldToItsSwitchAndToNoOther) {
  Bed bed;
  bed.cluster.submit(
      "tenant: a\npolicy: manager\njob: {name: one, workers: 5, stragglers: {exclude: "
      "threshold, ops: 4, threshold: 50ms}}\n",
      "f", bed.now);
  for (const char* name : {"root", "A", "B"}) bed.obey(name);
  std::uint32_t id = 0;
  SwitchReport report;
  bed.cluster.look([&](const Cluster::View& view) {
    id = view.service.admission().jobs().at("one").id;
    report.applied = view.service.version();
    EXPECT_THAT(view.service.document("A"), testing::HasSubstr("exclude: none"));
  });
  report.jobs[id] = 5;
  report.lateness = {{.job = id, .ranks = {0}, .ops = 4, .mean_ms = 60, .max_ms = 80},
                     {.job = id, .ranks = {1}, .ops = 4, .mean_ms = 1, .max_ms = 2}};
  const auto excluded = [&] {
    return bed.cluster.look([&](const Cluster::View& view) {
      EXPECT_FALSE(view.exclusions.contains("B"));
      return view.exclusions.at("A").at(id);
    });
  };
  std::uint64_t seen = 0;
  bed.cluster.wait_change(seen, {});
  const std::uint64_t before = seen;
  EXPECT_TRUE(bed.cluster.report("A", bed.sessions["A"], report, bed.now));
  EXPECT_THAT(excluded(), testing::ElementsAre(0));
  bed.cluster.wait_change(seen, {});
  EXPECT_GT(seen, before) << "the agent's stream is woken";
  EXPECT_EQ(bed.kinds().back(), "straggler");
  report.lateness->at(0) = {
      .job = id, .ranks = {0}, .ops = 4, .mean_ms = 1, .max_ms = 2, .excluded = "from op 9"};
  EXPECT_TRUE(bed.cluster.report("A", bed.sessions["A"], report, bed.now));
  EXPECT_THAT(excluded(), testing::IsEmpty());
  EXPECT_EQ(bed.kinds().back(), "straggler");
}

TEST(ClusterTimed, T11_HostsAreRankedByWhatSwitchesReportAndAnewWhenOneGoes) {
  Bed bed;
  bed.cluster.submit(
      "tenant: a\npolicy: manager\njob: {name: one, workers: 5, completion_hosts: [A, B, root], "
      "host_choice: least_load}\n",
      "f", bed.now);
  for (const char* name : {"root", "A", "B"}) bed.obey(name);
  const auto id = bed.cluster.look(
      [&](const Cluster::View& view) { return view.service.admission().jobs().at("one").id; });
  const auto say = [&](const char* name, std::uint64_t load) {
    SwitchReport report;
    report.jobs[id] = 5;
    report.load = load << 20;
    if (std::string(name) == "root")
      report.seats = {{.job = id, .host = "A", .state = "idle", .chosen = "policy"}};
    EXPECT_TRUE(bed.cluster.report(name, bed.sessions[name], report, bed.now));
  };
  const auto loads = [&] {
    return bed.cluster.look([&](const Cluster::View& view) {
      const auto& orders = view.hosts.orders();
      return orders.contains(id) ? orders.at(id).loads : std::map<std::string, std::uint32_t>();
    });
  };
  say("root", 0);
  say("A", 9);
  bed.cluster.advance(bed.now);
  EXPECT_THAT(loads(), testing::IsEmpty()) << "B has not told";
  say("B", 1);
  std::uint64_t seen = 0;
  bed.cluster.wait_change(seen, {});
  const std::uint64_t before = seen;
  bed.cluster.advance(bed.now);
  bed.cluster.wait_change(seen, {});
  EXPECT_GT(seen, before) << "the agent's stream is woken";
  EXPECT_THAT(loads(), testing::ElementsAre(testing::Pair("A", 9216), testing::Pair("B", 1024)));
  EXPECT_EQ(bed.kinds().back(), "host");
  bed.cluster.leave("B", bed.sessions["B"]);
  bed.cluster.advance(bed.now);
  EXPECT_THAT(loads(), testing::ElementsAre(testing::Pair("A", 9216)));
  EXPECT_EQ(bed.kinds().back(), "host");
}

TEST(ClusterTimed, T20_ACableThatLeadsElsewhereIsToldOnceAndWhenItIsMended) {
  Bed bed;
  const std::uint64_t session = bed.cluster.attend(Bed::registration("A"), bed.now);
  const auto hear = [&](std::optional<std::vector<Neighbour>> heard) {
    SwitchReport report;
    report.neighbours = std::move(heard);
    bed.cluster.report("A", session, report, bed.now);
    std::vector<std::string> told;
    bed.cluster.look([&](const Cluster::View& view) {
      for (const Event& event : view.events)
        if (event.kind == "cable") told.push_back(event.reason);
    });
    return told;
  };
  const std::string wrong = "A: port up leads to root.p1, and the topology says root.p0";
  EXPECT_THAT(hear(std::nullopt), ElementsAre());
  EXPECT_THAT(hear({{{"up", "root", "p1"}}}), ElementsAre(wrong));
  EXPECT_THAT(hear(std::nullopt), ElementsAre(wrong));
  EXPECT_THAT(hear({{{"p0", "host", "eth0"}, {"up", "root", "p1"}}}), ElementsAre(wrong));
  EXPECT_THAT(hear({{{"up", "root", "p0"}}}),
              ElementsAre(wrong, "A: its cables lead where the topology says"));
}

TEST(ClusterTimed, MembersThatAreThereRenewTheLease) {
  Bed bed;
  bed.cluster.submit(request("one", 5, "lease: 10s\n"), "f", bed.now);
  for (int turn = 0; turn < 4; ++turn) {
    bed.now = bed.now + Duration::seconds(6);
    for (const char* name : {"root", "A", "B"}) bed.obey(name, 1);
    bed.cluster.advance(bed.now);
    EXPECT_EQ(bed.phase("one"), Phase::running);
  }
  bed.now = bed.now + Duration::seconds(6);
  bed.obey("A", 0);
  bed.now = bed.now + Duration::seconds(6);
  bed.obey("A", 0);
  bed.cluster.advance(bed.now);
  EXPECT_THAT(bed.kinds(), Contains("expired"));
}

TEST(ClusterTimed, ADrainedWorkerStaysSoOverARestart) {
  const Scratch scratch;
  {
    Bed bed(128, scratch.file());
    EXPECT_THAT(bed.cluster.drain("B", true, bed.now), ElementsAre("w3", "w4"));
    EXPECT_THROW(bed.cluster.drain("C", true, bed.now), std::invalid_argument);
  }
  Bed bed(128, scratch.file());
  const auto told = bed.cluster.submit(request("all", 5), "f", bed.now);
  EXPECT_NE(told.outcome, Outcome::admitted);
  bed.cluster.drain("w3", false, bed.now);
  bed.cluster.drain("w4", false, bed.now);
  const auto again = bed.cluster.submit(request("all5", 5), "f", bed.now);
  EXPECT_EQ(again.outcome, Outcome::admitted);
}

TEST(ClusterTimed, AManagerThatOthersFollowSaysSo) {
  const Scratch scratch;
  Bed old(128, scratch.file());
  EXPECT_EQ(old.cluster.trouble(), "");
  delete_lock(scratch.file());
  const Bed next(128, scratch.file());
  EXPECT_THROW(old.cluster.submit(request("one", 2), "f", old.now), StoreError);
  EXPECT_NE(old.cluster.trouble(), "");
  EXPECT_THROW(old.cluster.advance(old.now), StoreError);
  EXPECT_THROW(old.cluster.advance(old.now), StoreError);
  EXPECT_NE(old.cluster.trouble(), "");
  EXPECT_EQ(old.kinds(), std::vector<std::string>{"store"});  // told once
}

TEST(ClusterTimed, AnIdleManagerNoticesThatOthersFollow) {
  const Scratch scratch;
  Bed old(128, scratch.file());
  old.cluster.advance(old.now);
  EXPECT_EQ(old.cluster.trouble(), "");
  delete_lock(scratch.file());
  const Bed next(128, scratch.file());
  EXPECT_THROW(old.cluster.advance(old.now), StoreError);
  EXPECT_THAT(old.cluster.trouble(), HasSubstr("has opened it"));
}

// None lost, no quota exceeded, each admitted one runs (T20, O1).
TEST(ClusterTimed, T20_ManyTenantsAtOnce) {
  constexpr int kTenants = 20;
  constexpr int kJobs = 200;
  const Scratch scratch;
  SqliteStore store(scratch.file());
  Service::Setup setup = Bed::setup(4096);
  setup.tenants.clear();
  for (int i = 0; i < kTenants; ++i)
    setup.tenants.push_back({.name = "t" + std::to_string(i), .quota = {.jobs = 1 + i % 3}});
  Cluster cluster(store, std::move(setup), {});
  std::vector<std::thread> callers;
  std::atomic<int> taken{0};
  for (int i = 0; i < kTenants; ++i)
    callers.emplace_back([&, i] {
      for (int job = 0; job < kJobs / kTenants; ++job) {
        const std::string name = std::to_string(i) + "-" + std::to_string(job);
        const std::string text = "tenant: t" + std::to_string(i) + "\njob: {name: job-" + name +
                                 ", workers: 2, window: 16}\n";
        taken += cluster.submit(text, "f", {}).outcome != Outcome::refused ? 1 : 0;
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(taken, kJobs);
  int ended = 0;
  while (ended < kJobs) {
    std::vector<std::string> runs;
    cluster.look([&](const Cluster::View& view) {
      const Admission& admission = view.service.admission();
      EXPECT_EQ(static_cast<int>(admission.jobs().size()), kJobs - ended);
      for (const Tenant& tenant : admission.tenants().all())
        EXPECT_LE(admission.used_by(tenant.name).jobs, *tenant.quota.jobs) << tenant.name;
      for (const auto& [name, job] : admission.jobs())
        if (job.admitted()) runs.push_back(name);
    });
    ASSERT_FALSE(runs.empty());
    for (const std::string& name : runs) {
      ASSERT_TRUE(cluster.cancel(name, {}, "done"));
      ++ended;
    }
  }
}

TEST(ClusterTimed, AgentsAttendAnewWhenTheTopologyIsReadAgain) {
  Bed bed;
  bed.cluster.submit(request("one", 5), "job.yaml", bed.now);
  for (const char* node : {"root", "A", "B"}) bed.obey(node);
  ASSERT_EQ(bed.phase("one"), Phase::running);
  Inventory inventory = two_level_tree();
  inventory.workers.pop_back();
  bed.cluster.set_setup({{{.name = "a"}}, {}, assemble(inventory)}, bed.now);
  EXPECT_TRUE(bed.cluster.is_over("A", bed.sessions["A"]));
  EXPECT_THAT(bed.kinds(), Contains("topology"));
  EXPECT_THAT(bed.kinds(), Contains("stray"));
  bed.sessions.clear();
  for (const char* node : {"root", "A", "B"}) bed.obey(node);
  EXPECT_EQ(bed.phase("one"), Phase::running);
}

// A cluster of two_ways() with a job, whose switches have what the manager wants but where a test
// says otherwise.
struct MovingBed {
  MovingBed() : cluster(store, {{{.name = "a"}}, {}, two_ways()}, {}) {
    cluster.submit(request("all", 3), "f", {});
    for (const config::TopologySwitch& sw : two_ways().switches) {
      SwitchRegistration made;
      made.name = sw.config.name;
      made.address = "10.0.0." + std::to_string(sw.config.id);
      for (const auto& port : sw.config.ports) made.ports.push_back(port.name);
      made.slots = 4096;
      made.bytes = 64u << 20;
      sessions[made.name] = cluster.attend(made, {});
      obey(made.name);
    }
  }
  void obey(const std::string& name) {
    report(name, [](SwitchReport& report, config::Version version) { report.applied = version; });
  }
  void refuse(const std::string& name) {
    report(name, [](SwitchReport& report, config::Version version) {
      report.refused = true;
      report.refused_revision = version.revision;
      report.problem = "no such port";
    });
  }
  template <typename Say>
  void report(const std::string& name, Say say) {
    SwitchReport report;
    cluster.look([&](const Cluster::View& view) {
      say(report, view.service.version());
      for (const auto& [job, state] : view.service.admission().jobs()) report.jobs[state.id] = 0;
    });
    EXPECT_TRUE(cluster.report(name, sessions.at(name), report, {}));
  }
  // "R moves from a to b, and waits for B"
  std::string last_event() {
    return cluster.look([](const Cluster::View& view) { return view.events.back().reason; });
  }
  std::string waits_for() {
    return cluster.look([](const Cluster::View& view) {
      return view.service.move() ? view.service.move()->waits_for() : std::string();
    });
  }
  std::string way() {
    return cluster.look(
        [](const Cluster::View& view) { return way_of(view.service.admission().topology(), "R"); });
  }

  Scratch scratch;
  SqliteStore store{scratch.file()};
  Cluster cluster;
  std::map<std::string, std::uint64_t> sessions;
};

TEST(ClusterTimed, C7_AMoveGoesOnAsEachSwitchHasItsDocument) {
  MovingBed bed;
  bed.cluster.use_uplink("R", "b", {});
  EXPECT_EQ(bed.last_event(), "R moves from a to b, and waits for B");
  for (const char* name : {"L", "A", "R"}) bed.obey(name);
  EXPECT_EQ(bed.waits_for(), "B") << "it is the turn of no other";
  bed.report("B", [](SwitchReport& report, config::Version version) {
    report.applied = {version.term, version.revision - 1};
  });
  EXPECT_EQ(bed.waits_for(), "B") << "it has the document of before";
  bed.obey("B");
  EXPECT_EQ(bed.waits_for(), "R");
  bed.obey("R");
  EXPECT_EQ(bed.waits_for(), "");
  EXPECT_EQ(bed.last_event(), "R has moved from a to b");
  EXPECT_EQ(bed.way(), "b");
  const auto events =
      bed.cluster.look([](const Cluster::View& view) { return view.events.size(); });
  bed.cluster.use_uplink("R", "b", {});
  bed.cluster.look([&](const Cluster::View& view) { EXPECT_EQ(view.events.size(), events); });
}

TEST(ClusterTimed, ASwitchThatRefusesAMoveEndsItAndNoJob) {
  for (const char* name : {"B", "R"}) {
    MovingBed bed;
    bed.cluster.use_uplink("R", "b", {});
    if (bed.waits_for() != name) bed.obey("B");
    bed.refuse(name);
    EXPECT_EQ(bed.waits_for(), "");
    EXPECT_EQ(bed.way(), "a");
    EXPECT_EQ(bed.last_event(), std::string("R stays at a: ") + name + ": no such port");
    bed.cluster.look([](const Cluster::View& view) {
      EXPECT_TRUE(view.service.admission().jobs().at("all").admitted());
      EXPECT_THAT(view.stayed, HasSubstr("no such port"));
    });
  }
}

TEST(ClusterTimed, AMoveNeedsTheAgentsOfItsSwitches) {
  MovingBed bed;
  bed.cluster.leave("B", bed.sessions.at("B"));
  EXPECT_THROW(bed.cluster.use_uplink("R", "b", {}), std::invalid_argument);
  EXPECT_EQ(bed.waits_for(), "");
}

}  // namespace
}  // namespace tributary::manager
