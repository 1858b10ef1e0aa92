// Says of a cluster at rest which jobs wait without a reason, by rules of its own: the tree is
// root{A, B}, slots are what is scarce. A job keeps the switches of all ways to place it that have
// enough slots when they are empty.
#include <algorithm>
#include <tuple>

#include "tests/manager/histories/world.h"

namespace tributary::manager::histories {
namespace {

using Nodes = std::set<std::string>;

class Judge {
 public:
  Judge(const Admission& admission, const std::set<std::string>& drained,
        const std::map<std::string, std::uint64_t>& slots)
      : admission_(admission), slots_(slots) {
    for (const auto& worker : admission.topology().workers)
      if (!drained.contains(worker.name)) leaf_of_[worker.name] = worker.attached_to;
    for (const auto& [name, job] : admission.jobs())
      for (const auto& [node, need] : job.needs) used_[node] += need.slots;
  }

  std::vector<std::string> run() {
    std::vector<std::string> wrong;
    Usage one;
    one.jobs = 1;
    for (const Job* job : in_order()) {
      const auto& config = job->request.job.config;
      if (!admission_.tenants()
               .excess(job->request.tenant, admission_.used_by(job->request.tenant), one)
               .empty())
        continue;
      const std::uint64_t need = std::uint64_t{config.window} * config.planes;
      auto ways = ways_of(*job);
      std::erase_if(ways, [&](const Nodes& way) { return !large_enough(way, need); });
      if (std::any_of(ways.begin(), ways.end(),
                      [&](const Nodes& way) { return has_room(way, need); }))
        wrong.push_back("job " + config.name + " waits though it has its room: " + job->waits_for);
      for (const Nodes& way : ways) held_.insert(way.begin(), way.end());
    }
    return wrong;
  }

 private:
  [[nodiscard]] std::vector<const Job*> in_order() const {
    Amount all;
    for (const auto& sw : admission_.topology().switches)
      all += admission_.amounts().capacity_at(sw.config.name);
    std::vector<const Job*> jobs;
    for (const auto& [name, job] : admission_.jobs())
      if (!job.admitted()) jobs.push_back(&job);
    const auto key = [&](const Job* job) {
      const std::string& tenant = job->request.tenant;
      return std::tuple(-static_cast<int>(job->request.priority),
                        admission_.tenants().share(tenant, admission_.used_by(tenant), all),
                        job->sequence);
    };
    std::sort(jobs.begin(), jobs.end(),
              [&](const Job* a, const Job* b) { return key(a) < key(b); });
    return jobs;
  }

  // Sets of switches that would do; none: it lacks workers.
  [[nodiscard]] std::vector<Nodes> ways_of(const Job& job) const {
    const Nodes all = {"root", "A", "B"};
    if (!job.request.job.members.empty()) {
      Nodes leaves;
      for (const auto& member : job.request.job.members) {
        const auto at = leaf_of_.find(member.worker);
        if (at == leaf_of_.end()) return {};
        leaves.insert(at->second);
      }
      return {leaves.size() == 1 ? leaves : all};
    }
    std::map<std::string, std::uint32_t> free;
    for (const auto& [worker, leaf] : leaf_of_) ++free[leaf];
    const std::uint32_t workers = job.request.job.config.workers;
    std::vector<Nodes> ways;
    for (const char* leaf : {"A", "B"})
      if (free[leaf] >= workers) ways.push_back({leaf});
    if (ways.empty() && free["A"] + free["B"] >= workers) ways.push_back(all);
    return ways;
  }

  [[nodiscard]] bool large_enough(const Nodes& way, std::uint64_t need) const {
    return std::all_of(way.begin(), way.end(),
                       [&](const std::string& node) { return need <= slots_.at(node); });
  }

  [[nodiscard]] bool has_room(const Nodes& way, std::uint64_t need) const {
    return std::all_of(way.begin(), way.end(), [&](const std::string& node) {
      const auto at = used_.find(node);
      return !held_.contains(node) &&
             need + (at == used_.end() ? 0 : at->second) <= slots_.at(node);
    });
  }

  const Admission& admission_;
  const std::map<std::string, std::uint64_t>& slots_;
  std::map<std::string, std::string> leaf_of_;  // of workers that may have jobs
  std::map<std::string, std::uint64_t> used_;
  Nodes held_;
};

}  // namespace

std::vector<std::string> waits_without_reason(const Admission& admission,
                                              const std::set<std::string>& drained,
                                              const std::map<std::string, std::uint64_t>& slots) {
  return Judge(admission, drained, slots).run();
}

}  // namespace tributary::manager::histories
