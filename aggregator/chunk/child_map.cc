#include "aggregator/chunk/child_map.h"

namespace tributary::aggregator {

ChildMap::ChildMap(const config::JobConfig& job) : workers_(job.workers) {
  std::size_t covered = job.children.empty() ? job.workers : 0;
  for (const config::ChildConfig& c : job.children) covered += c.ranks.size();
  ranks_.reserve(covered);
  list_.reserve(config::job_fan_in(job));
  for (const config::ChildConfig& c : job.children) {
    list_.push_back({c.is_switch, c.id, static_cast<std::uint32_t>(c.ranks.size()),
                     static_cast<std::uint32_t>(ranks_.size()), c.ipv4});
    ranks_.insert(ranks_.end(), c.ranks.begin(), c.ranks.end());
  }
  for (std::uint32_t rank = 0; job.children.empty() && rank < job.workers; ++rank) {
    list_.push_back({false, rank, 1, rank});
    ranks_.push_back(rank);
  }
  count_ = static_cast<std::uint32_t>(list_.size());
  child_of_.assign(job.workers, kNowhere);
  for (std::uint16_t i = 0; i < list_.size(); ++i) {
    has_switches_ = has_switches_ || list_[i].is_switch;
    for (const std::uint32_t rank : ranks_of(i)) child_of_.at(rank) = i;
  }
}

std::optional<std::uint16_t> ChildMap::joining(const wire::Header& h) const {
  const bool is_switch = (h.flags & wire::kFlagCompleteSubtree) != 0;
  for (std::uint16_t i = 0; i < list_.size(); ++i)
    if (list_[i].id == h.origin && list_[i].is_switch == is_switch) return i;
  return std::nullopt;
}

}  // namespace tributary::aggregator
