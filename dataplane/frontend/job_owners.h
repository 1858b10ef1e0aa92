// Which lcore does the work of a job, or of one of its planes: looked up for each packet where
// there are several.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "aggregator/chunk/job_index.h"
#include "config/plan/lcore_plan.h"
#include "core/wire/header.h"

namespace tributary::dataplane {

class JobOwners {
 public:
  explicit JobOwners(const config::SwitchConfig& config)
      : places_(config.jobs.size()), owners_(config.jobs.size()) {
    for (std::size_t i = 0; i < config.jobs.size(); ++i) {
      const config::JobConfig& job = config.jobs[i];
      places_[i].planes = job.planes;
      for (std::uint8_t plane = 0; plane < job.planes; ++plane)
        places_[i].lcores[plane] = static_cast<std::uint8_t>(config::job_lcore(config, job, plane));
      owners_.insert(job.id, &places_[i]);
    }
  }

  JobOwners(JobOwners&&) = default;
  JobOwners& operator=(JobOwners&&) = default;

  // A plane that the job does not have goes where the first one is, to be dropped there. nullopt:
  // no job here, and the lcore that has the packet may say so.
  [[nodiscard]] std::optional<std::uint16_t> of(const std::optional<wire::JobPlane>& named) const {
    const Places* const places = named ? owners_.find(named->job) : nullptr;
    if (places == nullptr) return std::nullopt;
    return places->lcores[named->plane < places->planes ? named->plane : 0];
  }

 private:
  struct Places {
    std::uint8_t planes = 1;
    std::array<std::uint8_t, config::kMaxPlanes> lcores{};
  };
  std::vector<Places> places_;  // stays where it is: the index points into it
  aggregator::JobIndex<const Places> owners_;
};

}  // namespace tributary::dataplane
