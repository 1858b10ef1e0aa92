// The plans that a front end has worked out for its jobs, one each, from the job's members, made
// anew when an epoch has begun. All memory is taken before the first use; one thread owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregator/chunk/job_index.h"
#include "aggregator/engine/engine.h"

namespace tributary::dataplane {

template <typename Plan>
class JobPlans {
 public:
  // Room for so many jobs.
  explicit JobPlans(std::size_t jobs) : by_job_(jobs) { kept_.reserve(jobs); }
  JobPlans(JobPlans&&) noexcept = default;
  JobPlans& operator=(JobPlans&&) noexcept = default;

  // Heap bytes, without what plans hold.
  static std::size_t table_bytes(std::size_t jobs) {
    return jobs * sizeof(Kept) + config::index_entries(jobs) * config::kIndexEntryBytes;
  }

  Plan& add(std::uint32_t job) {
    Kept& kept = kept_.emplace_back();
    by_job_.insert(job, &kept);
    return kept.plan;
  }

  // The plan for these members, after `make(plan, members)` where they are others than before;
  // nullptr: the job was not added, or has no members. Valid until the next call for the job.
  template <typename Make>
  const Plan* of(std::uint32_t job, const aggregator::Members& members, Make make) {
    Kept* const kept = by_job_.find(job);
    if (kept == nullptr || members.serial == 0) return nullptr;
    if (kept->serial != members.serial) {
      make(kept->plan, members);
      kept->serial = members.serial;
    }
    return &kept->plan;
  }

 private:
  struct Kept {
    std::uint64_t serial = 0;  // of the members; see aggregator::Members
    Plan plan;
  };
  std::vector<Kept> kept_;  // stays where it is: the index points into it
  aggregator::JobIndex<Kept> by_job_;
};

}  // namespace tributary::dataplane
