// Whom the manager excludes, over all of a job's tree, and when it takes them back (T13).
#include "manager/policy/exclusions.h"

#include <gmock/gmock.h>

#include <array>

#include "tests/manager/tree.h"
#include "tests/source_dir.h"

namespace tributary::manager {
namespace {

using config::Combine;
using config::ExcludeBy;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class ExclusionPolicy : public testing::Test {
 protected:
  ExclusionPolicy() { admission_.set_topology(assemble(two_level_tree())); }
  // A job of w0, w1 and w2 at A, and of w3 and w4 at B.
  std::uint32_t start(ExcludeBy exclude, PolicyOwner owner = PolicyOwner::manager,
                      Combine combine = Combine::mean) {
    JobRequest request;
    request.tenant = "a";
    request.policy = owner;
    request.job.config.name = "one";
    request.job.config.workers = 5;
    auto& policy = request.job.config.stragglers;
    policy.exclude = exclude;
    policy.combine = combine;
    policy.ops = 4;
    policy.most = 2;
    policy.threshold = Duration::ms(50);
    policy.recovered_below = Duration::ms(10);
    admission_.submit(request, {});
    admission_.advance({});
    return admission_.jobs().at("one").id;
  }
  void say(std::uint32_t job, std::uint32_t rank, double mean_ms, const std::string& excluded = "",
           std::uint32_t ops = 4) {
    reports_[rank < 3 ? "A" : "B"].push_back({.job = job,
                                              .ranks = {rank},
                                              .ops = ops,
                                              .mean_ms = mean_ms,
                                              .max_ms = mean_ms * 2,
                                              .excluded = excluded});
  }
  std::set<std::uint32_t> at(const std::string& node, std::uint32_t job) {
    const Exclusions all = exclusions(admission_, {reports_.begin(), reports_.end()});
    const auto found = all.find(node);
    if (found == all.end() || !found->second.contains(job)) return {99};
    return found->second.at(job);
  }

  Admission admission_{{{.name = "a"}}, {}};
  std::map<std::string, std::vector<Lateness>> reports_;
};

TEST_F(ExclusionPolicy, T13_AllAboveTheThreshold) {
  const std::uint32_t job = start(ExcludeBy::threshold);
  for (std::uint32_t rank = 0; rank < 5; ++rank) say(job, rank, rank % 3 == 0 ? 50.1 : 50);
  EXPECT_THAT(at("A", job), ElementsAre(0));
  EXPECT_THAT(at("B", job), ElementsAre(3));
}

TEST_F(ExclusionPolicy, T13_TheLatestOfAllTheTree) {
  const std::uint32_t job = start(ExcludeBy::largest);
  const std::vector<double> means = {30, 40, 45, 20, 0.1};
  for (std::uint32_t rank = 0; rank < 5; ++rank) say(job, rank, means[rank]);
  // Each switch by itself would have excluded rank 3, too.
  EXPECT_THAT(at("A", job), ElementsAre(1, 2));
  EXPECT_THAT(at("B", job), IsEmpty());
}

TEST_F(ExclusionPolicy, T13_TheLatestByTheWorstOpWhereThePolicySaysSo) {
  const std::uint32_t job = start(ExcludeBy::largest, PolicyOwner::manager, Combine::maximum);
  const std::vector<double> means = {30, 40, 45, 20, 0.1};
  for (std::uint32_t rank = 0; rank < 5; ++rank) say(job, rank, means[rank]);
  reports_["A"][0].max_ms = 300;
  reports_["B"][0].max_ms = 200;
  EXPECT_THAT(at("A", job), ElementsAre(0));
  EXPECT_THAT(at("B", job), ElementsAre(3));
}

TEST_F(ExclusionPolicy, OneRankOfASwitchStays) {
  const std::uint32_t job = start(ExcludeBy::threshold);
  for (std::uint32_t rank = 0; rank < 5; ++rank) say(job, rank, 100 + rank);
  EXPECT_THAT(at("A", job), ElementsAre(1, 2));
  EXPECT_THAT(at("B", job), ElementsAre(4));
}

TEST_F(ExclusionPolicy, T13_ARankComesBackWhenItHasRecovered) {
  const std::uint32_t job = start(ExcludeBy::threshold);
  say(job, 0, 20, "from op 7");           // no longer late, and not well yet
  say(job, 1, 4, "from op 7");            // below 10 ms in all ops
  say(job, 2, 60, "from op 7 to op 20");  // back, and late anew
  say(job, 3, 0.1);
  EXPECT_THAT(at("A", job), ElementsAre(0, 2));
  reports_["A"][2].mean_ms = 49;
  EXPECT_THAT(at("A", job), ElementsAre(0));
}

TEST_F(ExclusionPolicy, T13_OneGoodOpIsNoRecovery) {
  const std::uint32_t job = start(ExcludeBy::threshold);
  say(job, 0, 0.1, "from op 7", 3);
  say(job, 1, 0.1);
  EXPECT_THAT(at("A", job), ElementsAre(0));
  reports_["A"][0].ops = 4;
  EXPECT_THAT(at("A", job), IsEmpty());
}

TEST_F(ExclusionPolicy, WhoIsExcludedKeepsItsPlaceAmongTheLargest) {
  const std::uint32_t job = start(ExcludeBy::largest);
  say(job, 0, 12, "from op 7");
  say(job, 1, 90);
  say(job, 2, 95);
  EXPECT_THAT(at("A", job), ElementsAre(0, 2));
}

TEST_F(ExclusionPolicy, AShortHistoryNamesNobody) {
  const std::uint32_t job = start(ExcludeBy::threshold);
  say(job, 0, 200, "", 3);
  EXPECT_THAT(at("A", job), IsEmpty());
}

// T13's vector, w111 w112 w113 w121 w122 w131..w137, in ms.
constexpr std::array kTwelve = {0.0,   2100.0, 4500.0, 1300.0, 500.0,  500.0,
                                300.0, 1500.0, 6000.0, 2000.0, 3000.0, 4000.0};

// The ranks that a job of the example's twelve workers excludes, by switch.
std::map<std::string, std::set<std::uint32_t>> excluded_of_twelve(
    const config::StragglerPolicy& policy) {
  config::Topology tree = config::load_topology(tests::source_dir() + "/examples/hpcc-12.yaml");
  tree.jobs.clear();
  Admission admission({{.name = "a"}}, {});
  JobRequest request;
  request.tenant = "a";
  request.policy = PolicyOwner::manager;
  request.job.config.name = "one";
  request.job.config.workers = 12;
  request.job.config.stragglers = policy;
  std::map<std::string, std::vector<Lateness>> reports;
  for (std::uint32_t rank = 0; rank < 12; ++rank) {
    request.job.members.push_back({rank, tree.workers[rank].name});
    reports[tree.workers[rank].attached_to].push_back(
        {.ranks = {rank}, .ops = policy.ops, .mean_ms = kTwelve[rank], .max_ms = kTwelve[rank]});
  }
  // Beside S250, w113 is not the only child of its switch.
  reports["S201"].push_back({.ranks = {0, 1}, .is_switch = true, .ops = policy.ops});
  admission.set_topology(std::move(tree));
  admission.submit(request, {});
  admission.advance({});
  const std::uint32_t job = admission.jobs().at("one").id;
  for (auto& [at, children] : reports)
    for (Lateness& child : children) child.job = job;
  std::map<std::string, std::set<std::uint32_t>> excluded;
  for (const auto& [at, jobs] : exclusions(admission, {reports.begin(), reports.end()}))
    if (!jobs.at(job).empty()) excluded[at] = jobs.at(job);
  return excluded;
}

TEST(ExclusionVector, T13_TheNLargest) {
  config::StragglerPolicy policy;
  policy.exclude = ExcludeBy::largest;
  policy.most = 1;
  EXPECT_THAT(excluded_of_twelve(policy), ElementsAre(Pair("S203", ElementsAre(8))));
  policy.most = 3;
  EXPECT_THAT(excluded_of_twelve(policy),
              ElementsAre(Pair("S201", ElementsAre(2)), Pair("S203", ElementsAre(8, 11))));
}

TEST(ExclusionVector, T13_StrictlyAboveTheThreshold) {
  config::StragglerPolicy policy;
  policy.exclude = ExcludeBy::threshold;
  policy.threshold = Duration::seconds(4);
  EXPECT_THAT(excluded_of_twelve(policy),
              ElementsAre(Pair("S201", ElementsAre(2)), Pair("S203", ElementsAre(8))));
  policy.threshold = Duration::ms(3999);
  EXPECT_THAT(excluded_of_twelve(policy),
              ElementsAre(Pair("S201", ElementsAre(2)), Pair("S203", ElementsAre(8, 11))));
  policy.threshold = Duration::seconds(6);
  EXPECT_THAT(excluded_of_twelve(policy), IsEmpty());
}

TEST_F(ExclusionPolicy, JobsWhosePolicyIsTheSwitchesAreNotTouched) {
  const std::uint32_t job = start(ExcludeBy::threshold, PolicyOwner::by_switch);
  say(job, 0, 200);
  say(job, 1, 0);
  EXPECT_THAT(at("A", job), ElementsAre(99));
}

}  // namespace
}  // namespace tributary::manager
