#include "dataplane/rdma/queue_pairs.h"

#include <algorithm>

namespace tributary::dataplane {
namespace {

std::size_t pairs_in(const config::SwitchConfig& config) {
  return static_cast<std::size_t>(
      std::count_if(config.jobs.begin(), config.jobs.end(), [](const auto& j) { return j.rdma; }));
}

}  // namespace

std::size_t QueuePairs::table_bytes(const config::SwitchConfig& config) {
  return pairs_in(config) * sizeof(QueuePair) +
         config::index_entries(config.jobs.size()) * config::kIndexEntryBytes;
}

QueuePairs::QueuePairs(const config::SwitchConfig& config) : by_number_(config.jobs.size()) {
  pairs_.reserve(pairs_in(config));
  for (const config::JobConfig& job : config.jobs)
    if (job.rdma)
      pairs_.push_back({.qpn = wire::job_qpn(job.id),
                        .job = job.id,
                        .workers = job.workers,
                        .crc32c = job.integrity == wire::Integrity::crc32c,
                        .counters = {}});
  for (QueuePair& pair : pairs_) by_number_.insert(pair.qpn, &pair);
}

void QueuePairs::adopt(const QueuePairs& before) {
  for (QueuePair& pair : pairs_)
    if (const QueuePair* const old = before.of_job(pair.job)) pair.counters = old->counters;
}

}  // namespace tributary::dataplane
