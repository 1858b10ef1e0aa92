#include "control/events/late_children.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace tributary::control {

std::vector<Event> LateChildren::look(const std::vector<ChildTimes>& children,
                                      std::chrono::system_clock::time_point now) {
  std::vector<Event> out;
  if (!known_.empty() && now - begun_ < kWindow && now >= begun_) return out;
  std::map<Key, Known> next;
  std::map<std::pair<std::uint32_t, std::uint8_t>, std::vector<Mean>> means;
  for (const ChildTimes& child : children) {
    const Key key{child.job, child.plane, child.node};
    const auto before = known_.find(key);
    Known& known = next[key];
    known = {child.arrivals, child.lateness_ns, before != known_.end() && before->second.late};
    // Totals that fell are another job's.
    if (before == known_.end() || child.arrivals < before->second.arrivals + kLeastArrivals ||
        child.lateness_ns < before->second.lateness_ns)
      continue;
    means[{child.job, child.plane}].push_back(
        {&child, static_cast<double>(child.lateness_ns - before->second.lateness_ns) / 1e6 /
                     static_cast<double>(child.arrivals - before->second.arrivals)});
  }
  known_ = std::move(next);
  begun_ = now;
  for (auto& [job, of_job] : means) judge(of_job, now, out);
  return out;
}

void LateChildren::judge(const std::vector<Mean>& of_job, std::chrono::system_clock::time_point now,
                         std::vector<Event>& out) {
  std::vector<double> sorted;
  for (const Mean& mean : of_job) sorted.push_back(mean.ms);
  std::sort(sorted.begin(), sorted.end());
  const double early = sorted[(sorted.size() - 1) / 5];
  for (const Mean& mean : of_job) {
    const ChildTimes& child = *mean.child;
    bool& late = known_[{child.job, child.plane, child.node}].late;
    const bool is_late = mean.ms >= kLeastMs && mean.ms > kTimes * early;
    if (std::exchange(late, is_late) == is_late) continue;
    std::array<char, 32> ms{};
    std::snprintf(ms.data(), ms.size(), "%.1f ms", mean.ms);
    out.push_back({now, is_late ? LogLevel::warning : LogLevel::notice, "straggler", child.job,
                   child.node +
                       (is_late ? " is late in every op, though within the deadline: "
                                : " is not late any more: ") +
                       ms.data() + " behind the first on average"});
  }
}

}  // namespace tributary::control
