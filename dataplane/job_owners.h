// Which lcore does the work of a job: looked up for each packet where there are several.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "aggregator/job_index.h"
#include "config/lcore_plan.h"
#include "core/wire/header.h"

namespace tributary::dataplane {

class JobOwners {
 public:
  explicit JobOwners(const config::SwitchConfig& config) : owners_(config.jobs.size()) {
    for (const config::JobConfig& job : config.jobs)
      owners_.insert(job.id, &kLcores[config::job_lcore(config, job)]);
  }

  // Of a packet to the switch, not looked into yet. nullopt: it is nobody's, and whoever has it may
  // say so.
  [[nodiscard]] std::optional<std::uint16_t> of(std::span<const std::byte> packet) const {
    const auto job = wire::peek_job(packet);
    const std::uint16_t* const owner = job ? owners_.find(*job) : nullptr;
    return owner == nullptr ? std::nullopt : std::optional(*owner);
  }

 private:
  static constexpr auto kLcores = [] {
    std::array<std::uint16_t, config::kMaxLcores> all{};
    for (std::uint16_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }();
  aggregator::JobIndex<const std::uint16_t> owners_;
};

}  // namespace tributary::dataplane
