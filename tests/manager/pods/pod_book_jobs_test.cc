// Pods and their job get their places at once, and lose them at once (C2). A desk of the test's own
// says what a cluster's jobs would.
#include <gmock/gmock.h>

#include "manager/pods/pod_book.h"
#include "tests/manager/pods/nodes.h"
#include "tests/manager/pods/pod_text.h"

namespace tributary::manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Desk : public JobDesk {
 public:
  Answer admit(const std::string& group, const JobRequest& request) override {
    asked.emplace_back();
    for (const auto& member : request.job.members) asked.back().push_back(member.worker);
    for (const std::string& worker : asked.back())
      if (full.contains(worker)) return {.shortage = "needs 64 slots at A", .ports = full};
    groups[request.job.config.name] = group;
    return {.id = ++last};
  }
  [[nodiscard]] std::string address_of(const std::string& worker) const override {
    return "memif:///run/" + worker + "/memif";
  }
  [[nodiscard]] State state_of(const std::string& job, std::uint32_t id) const override {
    if (!groups.contains(job) || id != last) return State::gone;
    return runs ? State::running : State::starting;
  }
  [[nodiscard]] std::map<std::string, std::string> owners() const override { return groups; }
  void end(const std::string& job, const std::string&) override { groups.erase(job); }

  std::vector<std::vector<std::string>> asked;
  std::set<std::string> full;
  std::map<std::string, std::string> groups;
  std::uint32_t last = 0;
  bool runs = false;
};

Device port(const std::string& worker) {
  return {.name = kPortPrefix + worker, .kind = kPortKind};
}

class Bed {
 public:
  Bed() : book({}, [](const auto&, const auto&, const auto&) {}) {
    for (const char* name : {"x", "y", "z"}) report(name);
  }
  void create(const std::string& name, int pods, const std::string& spec = "") {
    std::string text = "---\n" + job_group(name, pods);
    for (int i = 0; i < pods; ++i)
      text += "---\n" + cpu_pod(name + std::to_string(i),
                                spec + "schedulingGroup: {podGroupName: " + name + "}, ");
    book.create(parse_manifest(text, "m"));
  }
  void schedule() {
    book.begin_scheduling();
    while (book.schedule_one({}, &desk)) {
    }
  }
  void report(const std::string& name, PodPhase phase = PodPhase::running) {
    NodeReport report{
        .figures = node(name, {port(name + "0"), port(name + "1")}, name == "z" ? "B" : "A"),
        .instances = {}};
    const auto work = book.work(name);
    report.applied = work.revision;
    for (const PodRecord* record : work.pods)
      report.instances[record->instance()] = {phase, {}, ""};
    book.report(name, std::move(report), now);
  }
  const PodRecord& pod(const std::string& name) { return book.pods().at(name); }
  std::size_t work(const std::string& node) { return book.work(node).pods.size(); }

  Instant now = Instant::from_ns(1);
  Desk desk;
  PodBook book;
};

TEST(PodBookJobs, C2_APodIsARankAtAPortAndStartsWhenItsJobRuns) {
  Bed bed;
  bed.create("j", 3);
  bed.schedule();
  ASSERT_EQ(bed.desk.asked.size(), 1u);
  const Seat seat = bed.pod("j2").seat.value();
  EXPECT_EQ(seat.job, "j");
  EXPECT_EQ(seat.id, 1u);
  EXPECT_EQ(seat.rank, 2u);
  EXPECT_EQ(seat.size, 3u);
  EXPECT_EQ(seat.port, bed.desk.asked[0][2]);
  EXPECT_EQ(seat.address, "memif:///run/" + seat.port + "/memif");
  EXPECT_EQ(bed.pod("j2").devices, std::vector<std::string>{kPortPrefix + seat.port});
  // One leaf switch has room for all of them.
  EXPECT_EQ(bed.pod("j0").node == "z", bed.pod("j1").node == "z");
  bed.book.tend(bed.desk);
  EXPECT_EQ(bed.work("x") + bed.work("y") + bed.work("z"), 0u);
  bed.desk.runs = true;
  bed.book.tend(bed.desk);
  EXPECT_EQ(bed.work("x") + bed.work("y") + bed.work("z"), 3u);
}

TEST(PodBookJobs, RanksOfANodeAreNumberedAmongThemselves) {
  Bed bed;
  bed.create("j", 2, "nodeName: x, ");
  bed.schedule();
  EXPECT_EQ(bed.pod("j0").seat->local_rank, 0u);
  EXPECT_EQ(bed.pod("j1").seat->local_rank, 1u);
  EXPECT_EQ(bed.pod("j1").seat->local_size, 2u);
}

TEST(PodBookJobs, C2_WithoutRoomForTheJobNoPodIsPlaced) {
  Bed bed;
  bed.desk.full = {"x0", "x1", "y0", "y1", "z0", "z1"};
  bed.create("j", 2);
  bed.schedule();
  for (const char* name : {"j0", "j1"}) {
    EXPECT_EQ(bed.pod(name).node, "");
    EXPECT_EQ(bed.pod(name).message, "job j: needs 64 slots at A");
    EXPECT_FALSE(bed.pod(name).seat);
  }
  for (const Node& node : bed.book.nodes_in_use()) EXPECT_EQ(node.cpu_millis_used, 0u);
}

TEST(PodBookJobs, C2_WhereASwitchIsFullOtherPlacesAreTried) {
  Bed bed;
  bed.desk.full = {"x0", "x1", "y0", "y1"};
  bed.create("j", 2);
  bed.schedule();
  EXPECT_GE(bed.desk.asked.size(), 1u);
  EXPECT_EQ(bed.pod("j0").node, "z");
  EXPECT_EQ(bed.pod("j1").node, "z");
}

TEST(PodBookJobs, WithoutEnoughPortsNoJobIsAskedFor) {
  Bed bed;
  bed.create("j", 7);
  bed.schedule();
  EXPECT_TRUE(bed.desk.asked.empty());
  EXPECT_THAT(bed.pod("j0").message, HasSubstr("no room for all of them"));
}

TEST(PodBookJobs, AJobHasAsManyPodsAsRanks) {
  Bed bed;
  bed.create("j", 2);
  EXPECT_THROW(
      bed.book.create(parse_manifest(cpu_pod("more", "schedulingGroup: {podGroupName: j}, "), "m")),
      std::invalid_argument);
}

TEST(PodBookJobs, C2_TheJobEndsWithTheLastPod) {
  Bed bed;
  bed.desk.runs = true;
  bed.create("j", 2, "restartPolicy: Never, nodeName: x, ");
  bed.schedule();
  bed.book.tend(bed.desk);
  bed.report("x");
  bed.book.tend(bed.desk);
  EXPECT_TRUE(bed.desk.groups.contains("j"));
  bed.report("x", PodPhase::succeeded);
  bed.book.tend(bed.desk);
  EXPECT_TRUE(bed.desk.groups.empty());
  EXPECT_EQ(bed.pod("j0").phase, PodPhase::succeeded);
}

TEST(PodBookJobs, C2_AJobThatIsGoneTakesThePlacesOfItsPods) {
  Bed bed;
  bed.create("j", 2);
  bed.schedule();
  const std::string first = bed.pod("j0").instance();
  bed.desk.groups.clear();
  bed.book.tend(bed.desk);
  EXPECT_EQ(bed.pod("j0").node, "");
  EXPECT_EQ(bed.pod("j0").reason, "JobLost");
  EXPECT_NE(bed.pod("j0").instance(), first);
  bed.schedule();
  EXPECT_EQ(bed.pod("j0").seat->id, 2u);
}

TEST(PodBookJobs, ARankThatRanOnceAndLostItsJobHasFailed) {
  Bed bed;
  bed.desk.runs = true;
  bed.create("j", 1, "restartPolicy: Never, ");
  bed.schedule();
  bed.book.tend(bed.desk);
  bed.desk.groups.clear();
  bed.book.tend(bed.desk);
  EXPECT_EQ(bed.pod("j0").phase, PodPhase::failed);
  EXPECT_EQ(bed.pod("j0").message, "its job has ended");
}

TEST(PodBookJobs, C2_ALostNodeStartsTheWholeGangAnew) {
  Bed bed;
  bed.desk.runs = true;
  bed.create("j", 3);
  bed.schedule();
  bed.book.tend(bed.desk);
  const std::string lost = bed.pod("j0").node;
  for (const char* name : {"x", "y", "z"}) bed.report(name);
  bed.now = bed.now + Duration::seconds(39);
  for (const char* name : {"x", "y", "z"})
    if (name != lost) bed.report(name);
  bed.now = bed.now + Duration::seconds(2);
  bed.book.advance(bed.now);
  for (const char* name : {"j0", "j1", "j2"}) {
    EXPECT_EQ(bed.pod(name).node, "") << name;
    EXPECT_FALSE(bed.pod(name).seat) << name;
  }
  bed.book.tend(bed.desk);
  EXPECT_TRUE(bed.desk.groups.empty()) << "the job ends before it is admitted again";
  bed.schedule();
  EXPECT_NE(bed.pod("j0").node, "");
  EXPECT_NE(bed.pod("j0").node, lost);
  EXPECT_EQ(bed.pod("j1").seat->id, 2u);
}

TEST(PodBookJobs, C2_ARankThatWaitsForOthersIsNotIdle) {
  Bed bed;
  bed.desk.runs = true;
  std::string text =
      "---\n" + job_group("j", 1) + "---\n" + cpu_pod("j0", "schedulingGroup: {podGroupName: j}, ");
  text.replace(text.find("name: j0"), 8, "name: j0, annotations: {tributary/idle-seconds: \"1\"}");
  bed.book.create(parse_manifest(text, "m"));
  bed.schedule();
  bed.book.tend(bed.desk);
  const std::string where = bed.pod("j0").node;
  NodeReport report{.figures = node(where, {port(where + "0")}), .instances = {}};
  report.instances[bed.pod("j0").instance()] = {PodPhase::running, {}, "", Duration::seconds(100)};
  bed.book.report(where, std::move(report), bed.now);
  EXPECT_EQ(bed.pod("j0").phase, PodPhase::running);
  EXPECT_FALSE(bed.pod("j0").deleting);
}

TEST(PodBookJobs, AGroupWaitsForWhatIsLeftOfItsJob) {
  Bed bed;
  bed.create("j", 2);
  bed.schedule();
  bed.book.remove("j0");
  bed.report(bed.pod("j0").node);
  ASSERT_FALSE(bed.book.pods().contains("j0"));
  bed.book.create(parse_manifest(cpu_pod("again", "schedulingGroup: {podGroupName: j}, "), "m"));
  bed.schedule();
  EXPECT_EQ(bed.pod("again").node, "");
  EXPECT_THAT(bed.pod("again").message, HasSubstr("still has pod j1"));
}

}  // namespace
}  // namespace tributary::manager
