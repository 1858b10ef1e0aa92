#include "manager/admission/job_ids.h"

#include <algorithm>

namespace tributary::manager {

bool JobIds::is_free(std::uint32_t low, Instant now) const {
  const auto at = states_.find(low);
  return at == states_.end() || (!at->second.live && now >= at->second.rests_until);
}

std::optional<std::uint32_t> JobIds::take(Instant now) {
  for (std::uint32_t tried = 1; tried < kIds; ++tried) {
    const std::uint32_t id = next_;
    next_ = next_ + 1 == kIds ? 1 : next_ + 1;  // 0 names no job
    if (!is_free(id, now)) continue;
    states_[id] = {.live = true, .rests_until = {}};
    return id;
  }
  return std::nullopt;
}

bool JobIds::restore(std::uint32_t id) {
  State& state = states_[id % kIds];
  if (state.live) return false;
  state.live = true;
  return true;
}

void JobIds::release(std::uint32_t id, Instant now) {
  states_[id % kIds] = {.live = false, .rests_until = now + quarantine_};
}

std::size_t JobIds::live() const {
  return static_cast<std::size_t>(std::count_if(
      states_.begin(), states_.end(), [](const auto& entry) { return entry.second.live; }));
}

}  // namespace tributary::manager
