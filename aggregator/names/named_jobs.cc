// The jobs with names, and who may read them.
#include "aggregator/names/name_engine.h"

namespace tributary::aggregator {
namespace {

std::size_t named(const config::SwitchConfig& config) {
  std::size_t count = 0;
  for (const config::JobConfig& job : config.jobs) count += job.names.enabled ? 1 : 0;
  return count;
}

}  // namespace

// Names of a job with planes are the first plane's.
NamedJobs::NamedJobs(const config::SwitchConfig& config) : index_(named(config)) {
  jobs_.reserve(named(config));
  for (const config::JobConfig& job : config.jobs) {
    if (!job.names.enabled || job.plane != 0) continue;
    Job& added = jobs_.emplace_back();
    added.id = job.id;
    added.has_parent = job.parent.has_value();
    added.segment_bytes = wire::segment_bytes(job.chunk_bytes);
    added.readers = job.names.readers;
    index_.insert(job.id, &added);
  }
}

void NamedJobs::inherit(NamedJobs& before) {
  for (Job& job : jobs_) {
    const Job* const same = before.find(job.id);
    if (same == nullptr) continue;
    job.declared = same->declared;
    job.pending = same->pending;
    job.counters = same->counters;
  }
}

}  // namespace tributary::aggregator
