// Random submissions, cancellations and silences: after each step nothing is over-committed, what
// is in use is what the running jobs need, and no job waits that would fit alone on an idle tree.
#include <gtest/gtest.h>

#include <set>

#include "core/prng.h"
#include "manager/admission/admission.h"
#include "tests/manager/tree.h"

namespace tributary::manager {
namespace {

class Cluster {
 public:
  explicit Cluster(std::uint64_t seed) : random_(seed) {
    Inventory inventory = two_level_tree();
    for (auto& sw : inventory.switches) {
      sw.slots = 64u << random_.below(4);
      sw.memory.reserve_megabytes = static_cast<std::uint32_t>(1 + random_.below(3));
    }
    admission_.set_topology(assemble(inventory));
  }

  void step() {
    now_ = now_ + Duration::ms(static_cast<std::int64_t>(random_.below(2000)));
    switch (random_.below(4)) {
      case 0: cancel_one(); break;
      case 1: renew_one(); break;
      default: submit_one();
    }
    admission_.advance(now_);
    check();
  }

  void end_all() {
    while (!admission_.jobs().empty())
      admission_.cancel(admission_.jobs().begin()->first, now_, "");
    for (const auto& sw : admission_.topology().switches)
      EXPECT_EQ(admission_.amounts().used_at(sw.config.name), Amount{});
    EXPECT_EQ(admission_.ids().live(), 0u);
  }

 private:
  void submit_one() {
    JobRequest request;
    request.tenant = random_.below(2) == 0 ? "a" : "b";
    request.priority = static_cast<std::uint32_t>(random_.below(3));
    request.job.config.name = "job-" + std::to_string(++submitted_);
    request.job.config.workers = static_cast<std::uint32_t>(1 + random_.below(6));
    request.job.config.window = 16u << random_.below(6);
    request.job.config.chunk_bytes = 1024u << random_.below(4);
    if (random_.below(3) == 0) request.job.config.trigger = config::Trigger::collect;
    if (random_.below(3) == 0) request.lease = Duration::seconds(5);
    if (random_.below(3) == 0 && request.job.config.workers <= 5)
      for (std::uint32_t r = 0; r < request.job.config.workers; ++r)
        request.job.members.push_back({r, "w" + std::to_string(4 - r)});
    if (random_.below(3) == 0 && request.job.config.workers > 1)
      request.job.config.completion_hosts = {random_.below(2) == 0 ? "A" : "B", "root"};
    const Decision told = admission_.submit(request, now_);
    EXPECT_EQ(told.outcome == Outcome::refused, !admission_.jobs().contains(told.job));
    EXPECT_FALSE(told.reason.empty());
  }
  std::string any_job() {
    auto at = admission_.jobs().begin();
    std::advance(at, static_cast<std::ptrdiff_t>(
                         random_.below(static_cast<std::uint32_t>(admission_.jobs().size()))));
    return at->first;
  }
  void cancel_one() {
    if (!admission_.jobs().empty()) admission_.cancel(any_job(), now_, "asked");
  }
  void renew_one() {
    if (!admission_.jobs().empty()) admission_.renew(any_job(), now_);
  }

  // By addition over all jobs, and by the configuration's own figures.
  void check() {
    std::map<std::string, Amount> used;
    std::map<std::string, std::uint64_t> jobs;
    std::set<std::uint32_t> ids;
    bool idle = true;
    for (const auto& [name, job] : admission_.jobs()) {
      if (!job.admitted()) {
        EXPECT_FALSE(job.waits_for.empty());
        continue;
      }
      idle = false;
      EXPECT_TRUE(ids.insert(job.id % JobIds::kIds).second);
      ++jobs[job.request.tenant];
      for (const auto& sw : admission_.topology().switches) {
        config::Topology one = admission_.topology();
        one.jobs = {*job.placed};
        for (const auto& part : config::node_config(one, sw.config.name).jobs)
          used[sw.config.name] += need_of(part);
      }
    }
    for (const auto& sw : admission_.topology().switches) {
      const std::string& node = sw.config.name;
      EXPECT_EQ(admission_.amounts().used_at(node), used[node]) << node;
      EXPECT_TRUE(used[node].fits_in(capacity_of(sw.config))) << node;
    }
    EXPECT_LE(jobs["a"], 3u);
    EXPECT_TRUE(!idle || admission_.jobs().empty()) << "a job waits on an idle tree";
  }

  Prng random_;
  Admission admission_{{{.name = "a", .weight = 1, .quota = {.jobs = 3}}, {.name = "b"}},
                       {.quarantine = Duration::seconds(3)}};
  Instant now_;
  int submitted_ = 0;
};

TEST(RandomAdmission, NothingIsOverCommittedNorLeaks) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Cluster cluster(seed);
    for (int i = 0; i < 60; ++i) cluster.step();
    cluster.end_all();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace tributary::manager
