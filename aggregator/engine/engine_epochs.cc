// Records of how epochs began and ended (epoch_log.h), for events. Written where it happens, so
// that epochs are known however short they are.
#include <algorithm>

#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {

void EpochLog::add(EpochRecord record) {
  if (total_ == 0) first_ = record.serial;
  record.first = first_;
  record.nth = total_;
  records_[total_++ % kMost] = record;
}

void EpochLog::add_newer(std::uint64_t serial, std::vector<EpochRecord>& into) const {
  std::uint64_t from = total_;
  while (from > 0 && total_ - from < kMost && at(from - 1).serial > serial) --from;
  for (; from < total_; ++from) into.push_back(at(from));
}

void Engine::Impl::record(Job& job, EpochRecord record) {
  record.serial = ++records_made;
  record.job = job.config.id;
  record.plane = job.config.plane;
  record.epoch = job.membership.epoch();
  job.epochs->add(record);
}

void Engine::Impl::record_begin(Job& job, const wire::Resumption& from, bool paused, Instant now) {
  EpochRecord begun;
  begun.what = EpochRecord::What::began;
  begun.at = now;
  begun.count = static_cast<std::uint16_t>(job.child_map.workers());
  begun.resumes = from.resumes() && paused;
  begun.retries = begun.resumes && from.retries();
  if (begun.resumes)
    begun.pause = Duration::ns(static_cast<std::int64_t>(job.counters.last_pause_ns.get()));
  record(job, begun);
}

// Not every call of the engine knows the time: the clock's last look is close.
void Engine::Impl::record_end(Job& job, EpochRecord end) {
  end.at = std::max(looked_at, job.epochs->latest());
  record(job, end);
}

void Engine::Impl::record_abort(Job& job) {
  EpochRecord end;
  end.what = EpochRecord::What::aborted;
  end.reason = job.last_abort.reason;
  end.by = job.last_abort.lost_switch;
  const auto& missing = job.last_abort.missing;
  end.count = static_cast<std::uint16_t>(missing.size());
  for (std::size_t i = 0; i < end.named().size(); ++i)
    end.ranks[i] = static_cast<std::uint16_t>(missing[i]);
  record_end(job, end);
}

void Engine::Impl::record_leave(Job& job, bool drained) {
  EpochRecord end;
  end.what = drained ? EpochRecord::What::drained : EpochRecord::What::left;
  if (drained) {
    end.by = job.drain.by;
    end.op = job.drain.op;
  }
  record_end(job, end);
}

EpochRecords Engine::epoch_records(std::uint64_t since) const {
  impl_->records_read = std::max(impl_->records_read, since);
  EpochRecords found{impl_->records_made, {}};
  if (since >= found.until) return found;
  for (const auto& job : impl_->jobs) job->epochs->add_newer(since, found.records);
  for (const auto& log : impl_->past_epochs) log->add_newer(since, found.records);
  std::sort(found.records.begin(), found.records.end(),
            [](const EpochRecord& a, const EpochRecord& b) { return a.serial < b.serial; });
  return found;
}

}  // namespace tributary::aggregator
