// Admission as users see it: what runs, what waits and for what, and in which order.
#include "manager/admission/admission.h"

#include <gmock/gmock.h>

#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Instant at(int seconds) {
  return Instant::from_ns(std::int64_t{seconds} * 1'000'000'000);
}

JobRequest request(const std::string& name, std::uint32_t workers, const std::string& tenant = "a",
                   std::uint32_t priority = 0) {
  JobRequest request;
  request.tenant = tenant;
  request.priority = priority;
  request.job.config.name = name;
  request.job.config.workers = workers;
  return request;
}

std::vector<std::string> names(const std::vector<Decision>& decisions) {
  std::vector<std::string> out;
  for (const Decision& d : decisions) out.push_back(d.job + " " + name_of(d.outcome));
  return out;
}

std::vector<std::string> workers_of(const Job& job) {
  std::vector<std::string> out;
  for (const auto& member : job.placed->members) out.push_back(member.worker);
  return out;
}

class AdmissionTest : public testing::Test {
 protected:
  AdmissionTest() { set_slots(4096); }
  // Slots of each switch; a job's window is 64.
  void set_slots(std::uint32_t slots) {
    Inventory inventory = two_level_tree();
    for (auto& sw : inventory.switches) sw.slots = slots;
    admission_.set_topology(assemble(inventory));
  }
  Decision submit(const JobRequest& r, int seconds = 0) {
    return admission_.submit(r, at(seconds));
  }
  const Job& job(const std::string& name) { return admission_.jobs().at(name); }

  Admission admission_{{{.name = "a", .weight = 1, .quota = {.jobs = 3}}, {.name = "b"}}, {}};
};

TEST_F(AdmissionTest, FewestSwitchesThenLeastLoad) {
  submit(request("one", 2));
  EXPECT_THAT(names(admission_.advance(at(0))), ElementsAre("one admitted"));
  EXPECT_EQ(job("one").needs.size(), 1u);
  const std::string first = job("one").needs.begin()->first;
  submit(request("two", 2));
  admission_.advance(at(0));
  EXPECT_NE(job("two").needs.begin()->first, first);
  submit(request("all", 5));
  admission_.advance(at(0));
  EXPECT_EQ(job("all").needs.size(), 3u);
  EXPECT_EQ(job("all").placed->config.id, job("all").id);
}

TEST_F(AdmissionTest, NamedMembersStayWhereTheyAre) {
  JobRequest r = request("pair", 2);
  r.job.members = {{0, "w4"}, {1, "w0"}};
  submit(r);
  admission_.advance(at(0));
  EXPECT_THAT(workers_of(job("pair")), ElementsAre("w4", "w0"));
  EXPECT_EQ(admission_.amounts().used_at("root"), job("pair").needs.at("root"));
}

TEST_F(AdmissionTest, WhatCanNeverRunIsRefusedWithFigures) {
  EXPECT_EQ(submit(request("x", 2, "c")).reason, "there is no tenant c; allowed: a, b");
  EXPECT_THAT(submit(request("x", 9)).reason, HasSubstr("needs 9 workers"));
  JobRequest wide = request("x", 2);
  wide.job.config.window = 4096;
  set_slots(1024);
  EXPECT_THAT(submit(wide).reason, HasSubstr("1024 slots"));
  JobRequest stranger = request("x", 1);
  stranger.job.members = {{0, "w77"}};
  EXPECT_THAT(submit(stranger).reason, HasSubstr("there is no worker 'w77'"));
  EXPECT_TRUE(admission_.jobs().empty());
}

TEST_F(AdmissionTest, T10_CompletionHostsThatAreNoSwitchesAreRefusedWithTheReason) {
  Inventory inventory = two_level_tree();
  inventory.workers[0].ipv4 = 0x0A000101;
  config::Topology topology = assemble(inventory);
  config::TopologyServer& server = topology.servers.emplace_back();
  server.config.name = "ps1";
  server.config.ipv4 = 0x0A000201;
  server.attached_to = "A";
  server.port = "spare";
  admission_.set_topology(topology);
  JobRequest r = request("x", 5);
  const std::pair<const char*, const char*> wrong[] = {
      {"ps1",
       "names 'ps1', a parameter server, which is told of its jobs by its file when it starts"},
      {"w0", "names 'w0', a worker, which is told of its jobs by its file when it starts"},
      {"moon",
       "names 'moon', and the topology has no such switch; allowed: switches below the "
       "job's root (A, B), and root as the last"}};
  for (const auto& [host, words] : wrong) {
    r.job.config.completion_hosts = {host, "root"};
    EXPECT_THAT(submit(r).reason, HasSubstr("job.completion_hosts: " + std::string(words)));
    EXPECT_THAT(admission_.admit_now(r, "g", at(0)).shortage, HasSubstr(words));
  }
  set_slots(4096);
  r.job.config.completion_hosts = {"root", "A"};
  EXPECT_THAT(submit(r).reason, HasSubstr("never falls silent"));
  r.job.members = {{0, "w0"}, {1, "w1"}, {2, "w2"}};
  r.job.config.workers = 3;
  r.job.config.completion_hosts = {"B", "root"};
  EXPECT_THAT(submit(r).reason, HasSubstr("switch 'B' sums nothing of the job; allowed: root"));
  r.job.config.completion_hosts = {"A", "root"};
  EXPECT_THAT(submit(r).reason, HasSubstr("is the root switch of the job"));
  EXPECT_TRUE(admission_.jobs().empty());
  r.job.config.completion_hosts = {"root"};
  EXPECT_EQ(submit(r).reason, "the next round of admission");
}

TEST_F(AdmissionTest, T10_AJobIsPlacedAroundTheSwitchesThatHostIt) {
  JobRequest r = request("x", 2);
  r.job.config.completion_hosts = {"B", "root"};
  EXPECT_EQ(submit(r).outcome, Outcome::queued);
  EXPECT_THAT(names(admission_.advance(at(0))), ElementsAre("x admitted"));
  EXPECT_THAT(workers_of(job("x")), ElementsAre("w3", "w0"));
  const auto& needs = job("x").needs;
  ASSERT_EQ(needs.size(), 3u);
  // (workers + 2 * window) chunks, at the host alone.
  EXPECT_EQ(needs.at("B").hosted_bytes, (2u + 2 * 64) * 1024);
  EXPECT_EQ(needs.at("A").hosted_bytes, 0u);
  EXPECT_GT(needs.at("root").completion_bytes, 0u);
  EXPECT_EQ(admission_.amounts().used_at("B").hosted_bytes, needs.at("B").hosted_bytes);
  admission_.cancel("x", at(1), "asked");
  EXPECT_EQ(admission_.amounts().used_at("B"), Amount{});
}

TEST_F(AdmissionTest, T10_AHostsMemoryIsCounted) {
  Inventory inventory = two_level_tree();
  inventory.switches[2].completion.hosted_megabytes = 1;
  admission_.set_topology(assemble(inventory));
  JobRequest r = request("x", 5);
  r.job.config.completion_hosts = {"B", "root"};
  r.job.config.window = 256;
  submit(r);
  r.job.config.name = "y";
  submit(r);
  admission_.advance(at(0));
  EXPECT_THAT(job("y").waits_for,
              HasSubstr("needs 529408 bytes of memory for chunks of others "
                        "(switch.completion.hosted_megabytes) at B, which has 1048576 and 529408 "
                        "in use"));
  admission_.cancel("x", at(1), "asked");
  EXPECT_THAT(names(admission_.advance(at(1))), ElementsAre("y admitted"));
  r.job.config.name = "z";
  r.job.config.window = 512;
  EXPECT_THAT(submit(r).reason,
              HasSubstr("completion.hosted_megabytes: 1 MiB cannot hold one chunk"));
}

TEST_F(AdmissionTest, AJobTwiceIsRefused) {
  submit(request("x", 2));
  EXPECT_THAT(submit(request("x", 2)).reason, HasSubstr("already queued"));
  admission_.advance(at(0));
  EXPECT_THAT(submit(request("x", 2)).reason, HasSubstr("already running"));
}

TEST_F(AdmissionTest, WaitsForRoomAndGetsItWhenAnotherEnds) {
  set_slots(64);
  submit(request("first", 5));
  submit(request("second", 5));
  EXPECT_THAT(names(admission_.advance(at(0))), ElementsAre("first admitted"));
  EXPECT_THAT(job("second").waits_for,
              HasSubstr("needs 64 slots at A, which has 64 and 64 in use"));
  EXPECT_EQ(admission_.cancel("first", at(1), "asked")->outcome, Outcome::cancelled);
  EXPECT_THAT(names(admission_.advance(at(1))), ElementsAre("second admitted"));
  EXPECT_FALSE(admission_.cancel("first", at(1), "asked").has_value());
}

TEST_F(AdmissionTest, PriorityThenFirstCome) {
  set_slots(64);
  submit(request("running", 5));
  admission_.advance(at(0));
  submit(request("low", 5));
  submit(request("high", 5, "a", 7));
  submit(request("high-too", 5, "a", 7));
  admission_.cancel("running", at(1), "");
  EXPECT_THAT(names(admission_.advance(at(1))), ElementsAre("high admitted"));
  admission_.cancel("high", at(2), "");
  EXPECT_THAT(names(admission_.advance(at(2))), ElementsAre("high-too admitted"));
}

TEST_F(AdmissionTest, AJobThatWaitsForASwitchKeepsItsRoom) {
  set_slots(128);
  JobRequest a = request("on-a", 1);
  a.job.members = {{0, "w0"}};
  a.job.config.window = 128;
  submit(a);
  admission_.advance(at(0));
  submit(request("everywhere", 5, "b"));
  JobRequest b = request("on-b", 1, "b");
  b.job.members = {{0, "w3"}};
  submit(b);
  EXPECT_TRUE(admission_.advance(at(0)).empty());
  EXPECT_THAT(job("on-b").waits_for, HasSubstr("waits for a job before it at B"));
}

TEST_F(AdmissionTest, AQuotaHoldsUpItsTenantAlone) {
  for (const char* name : {"1", "2", "3", "4"}) submit(request(name, 1));
  submit(request("other", 1, "b"));
  EXPECT_EQ(admission_.advance(at(0)).size(), 4u);
  EXPECT_THAT(job("4").waits_for, HasSubstr("quota of 3, of which 3 are in use"));
  EXPECT_TRUE(job("other").admitted());
}

TEST_F(AdmissionTest, AJobThatLacksQuotaAndRoomHoldsNoSwitch) {
  set_slots(128);
  for (std::uint32_t seat = 0; seat < 3; ++seat) {
    JobRequest r = request("seat-" + std::to_string(seat), 1);
    r.job.config.window = 32;
    r.job.members = {{0, "w" + std::to_string(seat)}};
    submit(r);
  }
  EXPECT_EQ(admission_.advance(at(0)).size(), 3u);
  submit(request("everywhere", 5, "a", 1));
  JobRequest b = request("on-b", 1, "b");
  b.job.members = {{0, "w3"}};
  submit(b);
  EXPECT_THAT(names(admission_.advance(at(0))), ElementsAre("on-b admitted"));
  EXPECT_THAT(job("everywhere").waits_for, HasSubstr("which has 128 and 96 in use; needs 1 jobs"));
}

TEST_F(AdmissionTest, FairShareGoesBeforeFirstCome) {
  set_slots(192);
  submit(request("a1", 5));
  submit(request("a2", 5));
  submit(request("a3", 5));
  admission_.advance(at(0));
  submit(request("a4", 5));
  submit(request("b1", 5, "b"));
  admission_.cancel("a1", at(1), "");
  EXPECT_THAT(names(admission_.advance(at(1))), ElementsAre("b1 admitted"));
}

TEST_F(AdmissionTest, ASilentJobIsFreedEverywhere) {
  JobRequest leased = request("leased", 5);
  leased.lease = Duration::seconds(10);
  submit(leased);
  admission_.advance(at(0));
  EXPECT_TRUE(admission_.renew("leased", at(5)));
  EXPECT_TRUE(admission_.advance(at(14)).empty());
  EXPECT_THAT(names(admission_.advance(at(15))), ElementsAre("leased expired"));
  for (const char* node : {"root", "A", "B"})
    EXPECT_EQ(admission_.amounts().used_at(node), Amount{});
  EXPECT_FALSE(admission_.renew("leased", at(15)));
}

TEST_F(AdmissionTest, ASwitchThatHasLessThanItSaidIsBelieved) {
  submit(request("all", 5));
  admission_.advance(at(0));
  admission_.requeue("all", at(1), "A refused it: no memory");
  EXPECT_EQ(admission_.amounts().used_at("A"), Amount{});
  EXPECT_FALSE(job("all").admitted());
  admission_.cap("A", {});
  EXPECT_TRUE(admission_.advance(at(1)).empty());
  EXPECT_THAT(job("all").waits_for, HasSubstr("at A, which has 0"));
}

TEST_F(AdmissionTest, ADrainedWorkerGetsNoNewJobs) {
  admission_.drain("w3", true);
  submit(request("pair", 4));
  admission_.advance(at(0));
  EXPECT_THAT(workers_of(job("pair")), testing::Not(testing::Contains("w3")));
  EXPECT_THAT(submit(request("all", 5)).reason, HasSubstr("4 workers can be used"));
  admission_.drain("w3", false);
  EXPECT_EQ(submit(request("all", 5)).outcome, Outcome::queued);
}

TEST_F(AdmissionTest, AJobThatWaitsForADrainedWorkerHoldsNoSwitch) {
  JobRequest all = request("all", 5, "b");
  for (std::uint32_t rank = 0; rank < 5; ++rank)
    all.job.members.push_back({rank, "w" + std::to_string(rank)});
  submit(all);
  admission_.drain("w3", true);
  EXPECT_TRUE(admission_.advance(at(0)).empty());
  EXPECT_THAT(job("all").waits_for, HasSubstr("worker w3 is drained"));
  submit(request("pair", 2));
  EXPECT_THAT(names(admission_.advance(at(0))), ElementsAre("pair admitted"));
  JobRequest seat = request("seat", 1);
  seat.job.members = {{0, "w4"}};
  EXPECT_NE(admission_.admit_now(seat, "group", at(0)).id, 0u);
  admission_.drain("w3", false);
  EXPECT_THAT(names(admission_.advance(at(1))), ElementsAre("all admitted"));
}

TEST_F(AdmissionTest, AJobThatASwitchIsTooSmallForHoldsNoSwitch) {
  set_slots(128);
  JobRequest large = request("large", 5, "b");
  large.job.config.window = 128;
  submit(large);
  admission_.cap("B", {.slots = 64, .bytes = 1u << 26, .completion_bytes = 1u << 26, .jobs = 8});
  EXPECT_TRUE(admission_.advance(at(0)).empty());
  EXPECT_THAT(job("large").waits_for, HasSubstr("needs 128 slots at B, which has 64"));
  submit(request("pair", 2));
  EXPECT_THAT(names(admission_.advance(at(0))), ElementsAre("pair admitted"));
  admission_.cancel("pair", at(1), "");
  admission_.cap("B", admission_.amounts().capacity_at("A"));
  EXPECT_THAT(names(admission_.advance(at(1))), ElementsAre("large admitted"));
}

TEST_F(AdmissionTest, AJobHoldsTheSwitchThatIsLargeEnough) {
  set_slots(128);
  JobRequest seat = request("seat", 1);
  seat.job.members = {{0, "w0"}};
  submit(seat);
  admission_.advance(at(0));
  admission_.cap("B", {.slots = 64, .bytes = 1u << 26, .completion_bytes = 1u << 26, .jobs = 8});
  JobRequest large = request("large", 2, "b", 1);
  large.job.config.window = 128;
  EXPECT_EQ(submit(large).outcome, Outcome::queued);
  EXPECT_TRUE(admission_.advance(at(0)).empty());
  seat.job.config.name = "small";
  submit(seat);
  EXPECT_TRUE(admission_.advance(at(0)).empty());
  EXPECT_THAT(job("small").waits_for, HasSubstr("waits for a job before it at A"));
}

TEST_F(AdmissionTest, OneTenantDoesNotTakeThePlacesOfOthers) {
  Admission small({{.name = "a"}, {.name = "b", .weight = 2}, {.name = "c"}}, {.queue = 8});
  small.set_topology(admission_.topology());
  const auto taken = [&](const std::string& tenant) {
    int count = 0;
    while (small.submit(request(tenant + std::to_string(count), 1, tenant), at(0)).outcome ==
           Outcome::queued)
      ++count;
    return count;
  };
  EXPECT_EQ(taken("a"), 2);
  EXPECT_THAT(small.submit(request("x", 1), at(0)).reason, HasSubstr("2 jobs of tenant a wait"));
  EXPECT_EQ(taken("b"), 4);
  EXPECT_EQ(taken("c"), 2);
  small.advance(at(0));
  EXPECT_EQ(small.submit(request("again", 1), at(1)).outcome, Outcome::queued);
}

TEST_F(AdmissionTest, ARefusalIsNoEndOfTheSwitchesRoom) {
  submit(request("all", 5));
  admission_.advance(at(0));
  admission_.requeue("all", at(1), "A refused it: busy");
  admission_.refuse("A");
  EXPECT_TRUE(admission_.advance(at(1)).empty());
  EXPECT_EQ(submit(request("later", 5)).outcome, Outcome::queued) << "it can run one day";
  admission_.forgive("A");
  EXPECT_THAT(names(admission_.advance(at(2))), ElementsAre("all admitted", "later admitted"));
}

TEST_F(AdmissionTest, ChangesAreNamedAndNoOthers) {
  submit(request("one", 5));
  admission_.advance(at(0));
  admission_.forget_changes();
  submit(request("two", 5));
  EXPECT_THAT(admission_.changes(), ElementsAre("two"));
  admission_.forget_changes();
  EXPECT_TRUE(admission_.renew("one", at(1)));
  admission_.advance(at(1));
  EXPECT_THAT(admission_.changes(), ElementsAre("two"));
  admission_.cancel("one", at(2), "");
  EXPECT_THAT(admission_.changes(), ElementsAre("one", "two"));
}

TEST_F(AdmissionTest, IsTheSameAfterARestart) {
  set_slots(64);
  submit(request("runs", 5));
  admission_.advance(at(0));
  submit(request("waits", 5));
  admission_.advance(at(0));
  Admission after({{.name = "a"}}, {});
  after.set_topology(admission_.topology());
  for (const auto& [name, job] : admission_.jobs()) after.restore(job, at(9));
  EXPECT_EQ(after.amounts().used_at("root"), admission_.amounts().used_at("root"));
  EXPECT_TRUE(after.advance(at(9)).empty());
  Job copy = admission_.jobs().at("runs");
  EXPECT_THROW(after.restore(copy, at(9)), std::invalid_argument);
  copy.request.job.config.name = "other";
  EXPECT_THROW(after.restore(copy, at(9)), std::invalid_argument);
}

JobRequest seated(const std::string& name, const std::vector<std::string>& workers) {
  JobRequest made = request(name, static_cast<std::uint32_t>(workers.size()));
  for (const std::string& worker : workers)
    made.job.members.push_back({static_cast<std::uint32_t>(made.job.members.size()), worker});
  return made;
}

TEST_F(AdmissionTest, C2_AJobOfPodsIsAdmittedAtOnceOrNothingChanges) {
  Inventory inventory = leased_tree(64);
  admission_.set_topology(assemble(inventory));
  const auto first = admission_.admit_now(seated("one", {"w0", "w1"}), "g", at(0));
  EXPECT_NE(first.id, 0u);
  EXPECT_EQ(job("one").owner, "g");
  EXPECT_THAT(workers_of(job("one")), ElementsAre("w0", "w1"));
  const auto second = admission_.admit_now(seated("two", {"w2", "w3"}), "h", at(0));
  EXPECT_EQ(second.id, 0u);
  EXPECT_THAT(second.shortage, HasSubstr("needs 64 slots at A, which has 64 and 64 in use"));
  EXPECT_THAT(second.full, ElementsAre("A"));
  EXPECT_FALSE(admission_.jobs().contains("two"));
  EXPECT_NE(admission_.admit_now(seated("two", {"w3", "w4"}), "h", at(0)).id, 0u);
  EXPECT_THAT(admission_.admit_now(seated("two", {"w2"}), "i", at(0)).shortage,
              HasSubstr("another job is called two"));
}

TEST_F(AdmissionTest, C2_LeasedPortsAreForContainersAlone) {
  admission_.set_topology(assemble(leased_tree()));
  EXPECT_THAT(submit(request("one", 1)).reason, HasSubstr("0 workers can be used"));
  EXPECT_THAT(submit(seated("one", {"w0"})).reason,
              HasSubstr("worker w0 is a port that containers of node x lease"));
}

}  // namespace
}  // namespace tributary::manager
