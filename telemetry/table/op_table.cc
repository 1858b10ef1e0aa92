#include "telemetry/table/op_table.h"

#include <algorithm>

namespace tributary::telemetry {
namespace {

constexpr std::uint64_t kEwmaShare = 8;
constexpr unsigned kMostPlanes = 64;

std::uint64_t all_of(unsigned planes) {
  return planes >= kMostPlanes ? ~std::uint64_t{0} : (std::uint64_t{1} << planes) - 1;
}

// A longer pause is no op's: the job stood still.
constexpr Duration kMostPeriod = Duration::seconds(60);

void note_period(JobOps& job, Instant now) {
  const Duration period = now - job.seen;
  if (job.ended == 0 || period > kMostPeriod) {
    job.period_ns = 0;
    return;
  }
  job.period_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(period.to_ns(), 1));
  job.period_ewma_ns =
      job.period_ewma_ns == 0
          ? job.period_ns
          : job.period_ewma_ns - job.period_ewma_ns / kEwmaShare + job.period_ns / kEwmaShare;
}

}  // namespace

JobOps& OpTable::place_of(std::uint32_t job) {
  if (const auto found = jobs_.find(job); found != jobs_.end()) return found->second;
  if (jobs_.size() >= limit_)
    jobs_.erase(std::min_element(jobs_.begin(), jobs_.end(), [](const auto& a, const auto& b) {
      return a.second.seen < b.second.seen;
    }));
  return jobs_[job];
}

bool OpTable::take(const OpEnd& end, std::uint32_t node, Instant now) {
  if (end.planes == 0 || end.plane >= end.planes || end.plane >= kMostPlanes) return false;
  JobOps& job = place_of(end.job);
  const bool is_new =
      (job.ended == 0 && job.open_planes == 0) || job.epoch != end.epoch || job.node != node;
  if (is_new || end.op > job.op) {
    job.node = node;
    job.epoch = end.epoch;
    job.op = end.op;
    job.open_planes = all_of(end.planes);
  } else if (end.op != job.op) {
    return false;  // an older one, of a plane behind the others
  }
  const std::uint64_t bit = std::uint64_t{1} << end.plane;
  if ((job.open_planes & bit) == 0) return false;  // told before
  job.open_planes &= ~bit;
  if (job.open_planes != 0) return false;
  note_period(job, now);
  job.seen = now;
  ++job.ended;
  ++ended_;
  return true;
}

}  // namespace tributary::telemetry
