// The completion engine's jobs. Packets and time act on one job each: pieces (engine_pieces.h),
// chunks that wait too long (engine_degrade.h), a second attempt (engine_retry.h), messages to the
// root (engine_replies.h).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "completion/engine/engine.h"
#include "completion/engine/job.h"

namespace tributary::completion {

struct Engine::Impl {
  explicit Impl(std::span<const JobLimits> limits);
  Job* find_job(std::uint32_t id);

  std::vector<std::unique_ptr<Job>> jobs;
  std::unordered_map<std::uint32_t, Job*> by_id;
};

}  // namespace tributary::completion
