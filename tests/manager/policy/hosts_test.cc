// Which completion hosts the manager prefers, when it changes its mind, and what it tells of it
// (T11). Time is the test's.
#include "manager/policy/hosts.h"

#include <gmock/gmock.h>

#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using config::HostChoice;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

class HostPolicy : public testing::Test {
 protected:
  HostPolicy() { admission_.set_topology(assemble(two_level_tree())); }
  // A job of w0, w1 and w2 at A, and of w3 and w4 at B.
  std::uint32_t start(HostChoice choice = HostChoice::least_load,
                      PolicyOwner owner = PolicyOwner::manager) {
    JobRequest request;
    request.tenant = "a";
    request.policy = owner;
    request.job.config.name = "one";
    request.job.config.workers = 5;
    request.job.config.completion_hosts = {"A", "B", "root"};
    request.job.config.host_choice = choice;
    admission_.submit(request, {});
    admission_.advance({});
    return admission_.jobs().at("one").id;
  }
  // The reasons of the decisions, with what each switch moves, in MiB per second.
  std::vector<std::string> look(int second, const std::map<std::string, std::uint64_t>& mebibytes) {
    HostRanking::Look look;
    for (const auto& [name, load] : mebibytes) look.loads[name] = load * kMiB;
    look.seats = seats_;
    const auto at = Instant::from_ns(1'000'000'000) + Duration::seconds(second);
    std::vector<std::string> said;
    for (const auto& ranked : ranking_.judge(admission_, look, at)) said.push_back(ranked.reason);
    return said;
  }
  HostOrder order(std::uint32_t job) {
    const auto at = ranking_.orders().find(job);
    return at == ranking_.orders().end() ? HostOrder{} : at->second;
  }

  Admission admission_{{{.name = "a"}}, {}};
  std::vector<HostSeat> seats_;
  HostRanking ranking_;
};

TEST_F(HostPolicy, T11_TheLeastLoadedIsChosenWhenAllHaveTold) {
  const std::uint32_t job = start();
  EXPECT_THAT(look(0, {{"A", 5}}), IsEmpty()) << "B has not told yet";
  EXPECT_THAT(look(1, {{"A", 5}, {"B", 1}, {"root", 0}}),
              ElementsAre("chunks go to B: A 5120 KiB/s, B 1024 KiB/s"));
  EXPECT_THAT(order(job).loads, ElementsAre(Pair("A", 5120), Pair("B", 1024)));
  EXPECT_THAT(order(job).candidates, IsEmpty());
  EXPECT_EQ(ranking_.reason(job), "chunks go to B: A 5120 KiB/s, B 1024 KiB/s");
  admission_.cancel("one", {}, "");
  look(2, {});
  EXPECT_THAT(ranking_.orders(), IsEmpty());
  EXPECT_EQ(ranking_.reason(job), "");
}

TEST_F(HostPolicy, T11_OneThatNeverTellsKeepsNoneWaiting) {
  start();
  EXPECT_THAT(look(0, {}), IsEmpty());
  EXPECT_THAT(look(9, {{"B", 7}}), IsEmpty());
  EXPECT_THAT(look(10, {{"B", 7}}), ElementsAre("chunks go to B: A is away, B 7168 KiB/s"));
}

TEST_F(HostPolicy, T11_TiesGoToTheFirstInTheList) {
  const std::uint32_t job = start();
  EXPECT_THAT(look(0, {{"A", 3}, {"B", 3}}),
              ElementsAre("chunks go to A: A 3072 KiB/s, B 3072 KiB/s"));
  EXPECT_THAT(order(job).loads, ElementsAre(Pair("A", 3072), Pair("B", 3073)))
      << "and the root sees no tie";
}

TEST_F(HostPolicy, T11_AnotherHostIsBetterByAMarginForAWhile) {
  const std::uint32_t job = start();
  look(0, {{"A", 1}, {"B", 2}});
  // A quarter and 1 MiB more than B's 8 are 11.
  EXPECT_THAT(look(1, {{"A", 11}, {"B", 8}}), IsEmpty());
  EXPECT_THAT(look(12, {{"A", 11}, {"B", 8}}), IsEmpty()) << "within the margin";
  EXPECT_THAT(look(13, {{"A", 12}, {"B", 8}}), IsEmpty());
  EXPECT_THAT(look(22, {{"A", 12}, {"B", 8}}), IsEmpty()) << "for nine seconds";
  EXPECT_THAT(look(23, {{"A", 10}, {"B", 8}}), IsEmpty()) << "and no more";
  EXPECT_THAT(look(24, {{"A", 90}, {"B", 8}}), IsEmpty());
  EXPECT_THAT(look(33, {{"A", 90}, {"B", 8}}), IsEmpty());
  EXPECT_EQ(order(job).loads.at("A"), 1024u) << "the root is told decisions alone";
  EXPECT_THAT(look(34, {{"A", 90}, {"B", 8}}),
              ElementsAre("chunks go to B: A 92160 KiB/s, B 8192 KiB/s"));
  EXPECT_EQ(order(job).loads.at("A"), 92'160u);
  EXPECT_THAT(look(60, {{"A", 8}, {"B", 9}}), IsEmpty()) << "nor is it back at once";
}

TEST_F(HostPolicy, T11_AHostThatDiesIsLeftOutAtOnce) {
  const std::uint32_t job = start();
  look(0, {{"A", 1}, {"B", 20}});
  EXPECT_THAT(look(1, {{"B", 20}}), ElementsAre("chunks go to B: A is away, B 20480 KiB/s"));
  EXPECT_THAT(order(job).loads, ElementsAre(Pair("B", 20'480)));
  EXPECT_THAT(look(2, {}), IsEmpty()) << "all are away: nothing better is known";
  EXPECT_THAT(order(job).loads, ElementsAre(Pair("B", 20'480)));
  EXPECT_THAT(look(3, {{"A", 1}, {"B", 20}}), IsEmpty());
  EXPECT_THAT(look(13, {{"A", 1}, {"B", 20}}),
              ElementsAre("chunks go to A: A 1024 KiB/s, B 20480 KiB/s"));
}

TEST_F(HostPolicy, T11_TheRootPicksOfAShortlist) {
  const std::uint32_t job = start(HostChoice::two_stage);
  EXPECT_THAT(look(0, {{"A", 10}, {"B", 8}}),
              ElementsAre("the root picks of A, B: A 10240 KiB/s, B 8192 KiB/s"));
  EXPECT_THAT(order(job).candidates, ElementsAre("A", "B"));
  EXPECT_THAT(order(job).loads, IsEmpty());
  // Off the list above twice the margin: 11 + 11 / 4 + 1.
  EXPECT_THAT(look(1, {{"A", 14}, {"B", 8}}), IsEmpty());
  EXPECT_THAT(look(11, {{"A", 14}, {"B", 8}}), IsEmpty());
  EXPECT_THAT(look(12, {{"A", 15}, {"B", 8}}), IsEmpty());
  EXPECT_THAT(look(22, {{"A", 15}, {"B", 8}}),
              ElementsAre("the root picks of B: A 15360 KiB/s, B 8192 KiB/s"));
  EXPECT_THAT(order(job).candidates, ElementsAre("B"));
}

TEST_F(HostPolicy, T11_AManagerThatFollowsLeavesTheHostThatServes) {
  const std::uint32_t job = start();
  seats_ = {{.job = job, .host = "A", .state = "serving"}};
  EXPECT_THAT(look(0, {{"A", 9}, {"B", 8}}), IsEmpty());
  EXPECT_THAT(look(30, {{"A", 9}, {"B", 8}}), IsEmpty());
  EXPECT_THAT(ranking_.orders(), IsEmpty());
  look(31, {{"A", 90}, {"B", 8}});
  EXPECT_THAT(look(41, {{"A", 90}, {"B", 8}}),
              ElementsAre("chunks go to B: A 92160 KiB/s, B 8192 KiB/s"));
}

TEST_F(HostPolicy, T11_OtherJobsAreTheSwitches) {
  start(HostChoice::least_load, PolicyOwner::by_switch);
  EXPECT_THAT(look(0, {{"A", 9}, {"B", 8}}), IsEmpty());
  admission_.cancel("one", {}, "");
  start(HostChoice::fewest_hops);
  EXPECT_THAT(look(0, {{"A", 9}, {"B", 8}}), IsEmpty());
}

}  // namespace
}  // namespace tributary::manager
