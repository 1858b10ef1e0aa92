#include "telemetry/table/op_table.h"

#include <algorithm>

namespace tributary::telemetry {
namespace {

constexpr std::uint64_t kEwmaShare = 8;
// A longer pause is no op's: the job stood still.
constexpr Duration kMostPeriod = Duration::seconds(60);

// An op has ended now.
void note_period(JobOps& job, Instant now) {
  const bool goes_on = job.ended > 1 && now - job.seen <= kMostPeriod;
  if (goes_on && now - job.since < kPeriodTime) return;
  if (goes_on) {
    const auto ns = static_cast<std::uint64_t>((now - job.since).to_ns());
    const std::uint64_t period = ns / (job.ended - job.ended_before);
    job.period_ewma_ns =
        job.period_ewma_ns == 0
            ? period
            : job.period_ewma_ns - job.period_ewma_ns / kEwmaShare + period / kEwmaShare;
  }
  job.since = now;
  job.ended_before = job.ended;
}

}  // namespace

void OpTable::make_room() {
  const auto most = std::max_element(
      told_.begin(), told_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  auto oldest = jobs_.end();
  for (auto it = jobs_.begin(); it != jobs_.end(); ++it)
    if (it->second.node == most->first &&
        (oldest == jobs_.end() || it->second.seen < oldest->second.seen))
      oldest = it;
  jobs_.erase(oldest);
  if (--most->second == 0) told_.erase(most);
}

JobOps& OpTable::place_of(std::uint32_t job, std::uint32_t node) {
  auto found = jobs_.find(job);
  if (found == jobs_.end()) {
    if (jobs_.size() >= limit_) make_room();
    found = jobs_.try_emplace(job).first;
  } else if (found->second.node != node) {
    if (const auto before = told_.find(found->second.node); --before->second == 0)
      told_.erase(before);
  } else {
    return found->second;
  }
  ++told_[node];
  return found->second;
}

bool OpTable::take(const OpEnd& end, std::uint32_t node, Instant now) {
  if (end.plane != 0) return false;
  if (const auto known = jobs_.find(end.job);
      known != jobs_.end() && known->second.node != node && now - known->second.seen < kTakeOver)
    return false;
  JobOps& job = place_of(end.job, node);
  const bool goes_on = job.ended != 0 && job.epoch == end.epoch && job.node == node;
  if (goes_on && end.op <= job.op) return false;  // told before
  job.node = node;
  job.epoch = end.epoch;
  job.op = end.op;
  ++job.ended;
  ++ended_;
  note_period(job, now);
  job.seen = now;
  return true;
}

}  // namespace tributary::telemetry
