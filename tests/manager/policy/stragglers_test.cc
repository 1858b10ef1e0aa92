// Orders ranks by lateness, the latest first, and marks workers that are late in all jobs (T13).
#include "manager/policy/stragglers.h"

#include <gmock/gmock.h>

#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Stragglers : public testing::Test {
 protected:
  Stragglers() { admission_.set_topology(assemble(two_level_tree())); }
  // A job of the workers w0 to w4, in this order.
  std::uint32_t start(const std::string& name) {
    JobRequest request;
    request.tenant = "a";
    request.job.config.name = name;
    request.job.config.workers = 5;
    admission_.submit(request, {});
    admission_.advance({});
    return admission_.jobs().at(name).id;
  }
  // What the switch of a rank says of it.
  void say(std::uint32_t job, std::uint32_t rank, double mean_ms) {
    reports_[rank < 3 ? "A" : "B"].push_back(
        {.job = job, .ranks = {rank}, .ops = 8, .mean_ms = mean_ms});
  }
  [[nodiscard]] std::vector<Straggler> worst() const {
    return worst_first(admission_, {reports_.begin(), reports_.end()});
  }
  [[nodiscard]] std::vector<std::uint32_t> ranks() const {
    std::vector<std::uint32_t> found;
    for (const Straggler& one : worst()) found.push_back(one.rank);
    return found;
  }

  Admission admission_{{{.name = "a"}}, {}};
  std::map<std::string, std::vector<Lateness>> reports_;
};

TEST_F(Stragglers, T13_TheLatestComesFirst) {
  const std::uint32_t job = start("one");
  for (std::uint32_t rank = 0; rank < 5; ++rank) say(job, rank, rank == 3 ? 40 : 0.1 * rank);
  EXPECT_THAT(ranks(), ElementsAre(3, 4, 2, 1, 0));
  const Straggler latest = worst().front();
  EXPECT_EQ(latest.job, "one");
  EXPECT_EQ(latest.worker, "w3");
  EXPECT_EQ(latest.at, "B");
}

TEST_F(Stragglers, ABranchOfTheTreeIsNoRank) {
  const std::uint32_t job = start("one");
  say(job, 0, 1);
  reports_["root"] = {{.job = job, .ranks = {3, 4}, .is_switch = true, .ops = 8, .mean_ms = 90},
                      {.job = job, .ranks = {1}, .is_switch = true, .ops = 8, .mean_ms = 90}};
  EXPECT_THAT(ranks(), ElementsAre(0));
}

TEST_F(Stragglers, OfTwoPlanesTheLaterOneCounts) {
  const std::uint32_t job = start("one");
  say(job, 0, 1);
  say(job, 0, 7);
  say(job, 0, 2);
  reports_["A"].back().max_ms = 300;
  const auto found = worst();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].lateness.mean_ms, 7);
  EXPECT_EQ(found[0].lateness.max_ms, 300);  // of any plane
}

TEST_F(Stragglers, JobsThatAreNotKnownAreLeftOut) {
  const std::uint32_t job = start("one");
  say(job + 1, 0, 5);
  say(job, 9, 5);
  EXPECT_THAT(ranks(), IsEmpty());
}

TEST_F(Stragglers, AWorkerThatIsLateInAllItsJobsIsMarked) {
  for (const char* name : {"one", "two"}) {
    const std::uint32_t job = start(name);
    for (std::uint32_t rank = 0; rank < 5; ++rank)
      say(job, rank, rank == 3 ? 40 : rank == 1 && job == 1 ? 30 : 0.1);
  }
  for (const Straggler& one : worst()) EXPECT_EQ(one.everywhere, one.worker == "w3") << one.worker;
}

TEST_F(Stragglers, OneJobIsNotEverywhere) {
  const std::uint32_t job = start("one");
  for (std::uint32_t rank = 0; rank < 5; ++rank) say(job, rank, rank == 3 ? 40 : 0.1);
  for (const Straggler& one : worst()) EXPECT_FALSE(one.everywhere);
}

}  // namespace
}  // namespace tributary::manager
