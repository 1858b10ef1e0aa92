// How far children lag behind (T13): computed from the time-lines of the latest ops on request, so
// that a packet costs nothing more. Runs on the engine's thread; may allocate.
#include <algorithm>
#include <limits>

#include "aggregator/engine/engine_impl.h"

namespace tributary::aggregator {
namespace {

// The time until which a chunk has waited for a child that has sent nothing.
Instant waited_until(const ShardJob& job, const KeptOp& r, Instant now) {
  if (job.running) return now;
  return job.history.event(r, OpEventKind::deadline).last;
}

// `out.behind` holds so many children, from `first_child` on.
void add_chunk(const ShardJob& job, const KeptOp& r, KeptAs which, Instant now,
               std::uint32_t first_child, OpLateness& out) {
  const auto arrivals = job.history.arrivals(r, which);
  const Instant first = r.first_of(which);
  for (std::uint32_t i = 0; i < out.behind.size(); ++i) {
    const std::uint32_t child = first_child + i;
    const bool here = arrivals[child] != OpHistory::kNotYet;
    const Instant at = here ? arrivals[child] : waited_until(job, r, now);
    out.complete = out.complete && here;
    out.behind[i] = std::max(out.behind[i], at - first);
  }
}

// Where one rank's data is passed on, no other rank can be late.
bool add_op(const ShardJob& job, std::uint32_t op, Instant now, std::uint32_t first_child,
            OpLateness& out) {
  const KeptOp* const r = job.history.find(op);
  if (r == nullptr || r->passed_on()) return false;
  for (const KeptAs which : kKeptChunks)
    if (r->has(which)) add_chunk(job, *r, which, now, first_child, out);
  return r->has(KeptAs::first) || r->has(KeptAs::last);
}

using Parts = std::vector<const ShardJob*>;

Parts parts_of(const std::vector<std::shared_ptr<Shard>>& shards, const Job& job) {
  Parts parts;
  for (const auto& shard : shards)
    if (const ShardJob* const part = find_part(shard.get(), job.place)) parts.push_back(part);
  return parts;
}

// The latest ops of a job with these parts, oldest first: for so many children.
std::vector<OpLateness> lateness_of(const Parts& parts, Instant now, std::uint32_t from_op,
                                    std::uint32_t first_child, std::uint32_t children) {
  std::vector<std::uint32_t> known;
  for (const ShardJob* const part : parts)
    for (const KeptOp& r : part->history.records())
      if (r.op != KeptOp::kNoOp && r.op >= from_op) known.push_back(r.op);
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  std::vector<OpLateness> ops;
  for (const std::uint32_t op : known) {
    OpLateness lateness;
    lateness.op = op;
    lateness.behind.resize(children);
    bool seen = false;
    for (const ShardJob* const part : parts)
      seen = add_op(*part, op, now, first_child, lateness) || seen;
    if (seen) ops.push_back(std::move(lateness));
  }
  // A shard that short ops never use still has records of ops that are long over.
  const std::size_t older = ops.size() - std::min<std::size_t>(ops.size(), OpHistory::kOps);
  ops.erase(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(older));
  return ops;
}

// Fills the row of the child at `place` among those that were looked at, from each op.
void summarise(const std::vector<OpLateness>& ops, std::size_t place, ChildLateness& row) {
  row.ops = static_cast<std::uint32_t>(ops.size());
  std::int64_t total_ns = 0;
  for (const OpLateness& op : ops) {
    total_ns += op.behind[place].to_ns();
    row.most = std::max(row.most, op.behind[place]);
    row.last = op.behind[place];
  }
  if (!ops.empty()) row.mean = Duration::ns(total_ns / static_cast<std::int64_t>(ops.size()));
}

// The cost of a job besides its children, counted in children.
constexpr std::size_t kJobCost = 16;

}  // namespace

void sort_latest_first(std::vector<ChildLateness>& children) {
  std::stable_sort(children.begin(), children.end(),
                   [](const ChildLateness& a, const ChildLateness& b) {
                     return a.job != b.job ? a.job < b.job : a.mean > b.mean;
                   });
}

std::vector<OpLateness> Engine::lateness(std::uint32_t id, Instant now,
                                         std::uint32_t from_op) const {
  const Job* const job = impl_->job_index.find(id);
  if (job == nullptr) return {};
  return lateness_of(parts_of(impl_->shards, *job), now, from_op, 0, job->child_map.count());
}

ChildTotals Engine::child_totals(std::size_t index, std::uint32_t child) const {
  ChildTotals sum;
  for (const auto& shard : impl_->all_shards)
    if (const ShardJob* const part = shard->find_job(impl_->jobs[index]->place))
      sum.include(part->totals[child]);
  return sum;
}

std::vector<ChildLateness> Engine::stragglers(Instant now) const {
  constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();
  std::vector<ChildLateness> all;
  for (LatenessPlace place; stragglers(now, place, kAll, all);) {
  }
  sort_latest_first(all);
  return all;
}

bool Engine::stragglers(Instant now, LatenessPlace& place, std::size_t most,
                        std::vector<ChildLateness>& into) const {
  for (std::size_t left = most; place.job < impl_->jobs.size(); place = {place.job + 1, 0}) {
    const Job& job = *impl_->jobs[place.job];
    const auto parts = parts_of(impl_->shards, job);
    const std::size_t cost = std::max<std::size_t>(parts.size(), 1);
    const std::uint32_t begin = std::min(place.child, job.child_map.count());  // it may have shrunk
    const std::uint32_t rest = job.child_map.count() - begin;
    if (left < most && left < cost * kJobCost) return true;
    const auto children = static_cast<std::uint32_t>(
        std::min<std::size_t>(std::max<std::size_t>(left / cost, 1), rest));
    const auto ops = lateness_of(parts, now, 0, begin, children);
    const std::vector<Exclusion> excluded = exclusions(place.job);
    for (std::uint32_t i = 0; i < children; ++i) {
      const std::uint32_t c = begin + i;
      const auto ranks = job.child_map.ranks_of(c);
      ChildLateness& row = into.emplace_back();
      row.job = job.config.id;
      row.plane = job.config.plane;
      row.id = job.child_map[c].id;
      row.is_switch = job.child_map[c].is_switch;
      row.peer = job.membership.member(c).peer;
      row.ranks.assign(ranks.begin(), ranks.end());
      row.missed_deadlines = child_totals(place.job, c).missed_deadlines.get();
      row.excluded = excluded[c];
      summarise(ops, i, row);
    }
    place.child = begin + children;
    if (children < rest) return true;
    left -= std::min(left, cost * (kJobCost + children));
  }
  return false;
}

}  // namespace tributary::aggregator
