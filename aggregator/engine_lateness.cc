// How far children lag behind (T13): worked out from the time-lines of the latest ops when somebody
// asks, so that a packet costs nothing more. Runs on the engine's thread; may allocate.
#include <algorithm>

#include "aggregator/engine_impl.h"

namespace tributary::aggregator {
namespace {

// Of a chunk that a child has not sent: until when it has been waited for.
Instant waited_until(const ShardJob& job, const KeptOp& r, Instant now) {
  if (job.running) return now;
  return job.history.event(r, OpEventKind::deadline).last;
}

void add_chunk(const ShardJob& job, const KeptOp& r, KeptAs which, Instant now, OpLateness& out) {
  const auto arrivals = job.history.arrivals(r, which);
  const Instant first = r.first_of(which);
  for (std::uint32_t child = 0; child < job.fan_in; ++child) {
    const bool here = arrivals[child] != OpHistory::kNotYet;
    const Instant at = here ? arrivals[child] : waited_until(job, r, now);
    out.complete = out.complete && here;
    out.behind[child] = std::max(out.behind[child], at - first);
  }
}

// Where one rank's data is passed on, nobody else has any to be late with.
bool add_op(const ShardJob& job, std::uint32_t op, Instant now, OpLateness& out) {
  const KeptOp* const r = job.history.find(op);
  if (r == nullptr || r->passed_on()) return false;
  for (const KeptAs which : kKeptChunks)
    if (r->has(which)) add_chunk(job, *r, which, now, out);
  return r->has(KeptAs::first) || r->has(KeptAs::last);
}

}  // namespace

std::vector<OpLateness> Engine::lateness(std::uint32_t id, Instant now,
                                         std::uint32_t from_op) const {
  const Job* const job = impl_->job_index.find(id);
  if (job == nullptr) return {};
  std::vector<std::uint32_t> known;
  for (const auto& shard : impl_->shards)
    if (const ShardJob* const part = find_part(shard.get(), job->place))
      for (const KeptOp& r : part->history.records())
        if (r.op != KeptOp::kNoOp && r.op >= from_op) known.push_back(r.op);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::vector<OpLateness> ops;
  for (const std::uint32_t op : known) {
    OpLateness lateness;
    lateness.op = op;
    lateness.behind.resize(job->child_map.count());
    bool seen = false;
    for (const auto& shard : impl_->shards)
      if (const ShardJob* const part = find_part(shard.get(), job->place))
        seen = add_op(*part, op, now, lateness) || seen;
    if (seen) ops.push_back(std::move(lateness));
  }
  // A shard that short ops leave alone knows others that are long over.
  const std::size_t older = ops.size() - std::min<std::size_t>(ops.size(), OpHistory::kOps);
  ops.erase(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(older));
  return ops;
}

ChildTotals Engine::child_totals(std::size_t index, std::uint32_t child) const {
  ChildTotals sum;
  for (const auto& shard : impl_->all_shards)
    if (const ShardJob* const part = shard->find_job(impl_->jobs[index]->place))
      sum.include(part->children[child].totals);
  return sum;
}

std::vector<ChildLateness> Engine::stragglers(Instant now) const {
  std::vector<ChildLateness> all;
  for (std::size_t index = 0; index < impl_->jobs.size(); ++index) {
    const auto& job = impl_->jobs[index];
    const std::vector<OpLateness> ops = lateness(job->config.id, now);
    const std::vector<Exclusion> excluded = exclusions(index);
    for (std::uint32_t c = 0; c < job->child_map.count(); ++c) {
      const auto ranks = job->child_map.ranks_of(c);
      ChildLateness row;
      row.job = job->config.id;
      row.plane = job->config.plane;
      row.id = job->child_map[c].id;
      row.is_switch = job->child_map[c].is_switch;
      row.peer = job->membership.member(c).peer;
      row.ranks.assign(ranks.begin(), ranks.end());
      row.ops = static_cast<std::uint32_t>(ops.size());
      row.missed_deadlines = child_totals(index, c).missed_deadlines.get();
      row.excluded = excluded[c];
      std::int64_t total_ns = 0;
      for (const OpLateness& op : ops) {
        total_ns += op.behind[c].to_ns();
        row.most = std::max(row.most, op.behind[c]);
        row.last = op.behind[c];
      }
      if (!ops.empty()) row.mean = Duration::ns(total_ns / static_cast<std::int64_t>(ops.size()));
      all.push_back(std::move(row));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const ChildLateness& a, const ChildLateness& b) {
    return a.job != b.job ? a.job < b.job : a.mean > b.mean;
  });
  return all;
}

}  // namespace tributary::aggregator
