// What people see of the engine: `show jobs` and `show slots`. Runs on the engine's thread on
// request; may allocate, so never per packet.
#include <algorithm>

#include "aggregator/engine_impl.h"

namespace tributary::aggregator {
namespace {

UpstreamStatus upstream_status(const Upstream& up, const config::ParentConfig& parent) {
  using enum Upstream::State;
  const char* state = up.state() == joining    ? "joining"
                      : up.state() == running  ? "running"
                      : up.state() == leaving  ? "leaving"
                      : up.state() == aborting ? "aborting"
                                               : "down";
  return {parent.name, parent.id, parent.uplink, up.child(), up.fan_in(), state};
}

void add_event(std::uint8_t shard, const OpEvent& e, Instant began, const std::string& what,
               std::vector<OpLine>& out) {
  if (e.chunks == 0) return;
  out.push_back({shard, e.first - began, what, e.first_chunk, e.chunks, e.last - began, {}});
}

void add_arrivals(const ShardJob& job, std::uint8_t shard, const OpRecord& r, std::size_t which,
                  Instant began, std::vector<OpLine>& out) {
  const auto arrivals = job.history.arrivals(r, which);
  for (std::uint32_t child = 0; child < job.fan_in; ++child) {
    if (arrivals[child] == OpHistory::kNotYet) continue;
    const auto ranks = job.child_map.ranks_of(child);
    const Duration at = arrivals[child] - began;
    out.push_back({shard, at, "arrived", r.chunk[which], 1, at, {ranks.begin(), ranks.end()}});
  }
}

void add_op_lines(const ShardJob& job, std::uint8_t shard, std::uint32_t op, Instant began,
                  std::vector<OpLine>& out) {
  const OpRecord* const r = job.history.find(op);
  if (r == nullptr) return;
  for (std::size_t which = 0; which < 2; ++which)
    if (r->has_chunk[which]) add_arrivals(job, shard, *r, which, began, out);
  add_event(shard, r->deadline, began, "deadline passed", out);
  for (std::size_t why = 0; why < kEscalationReasons; ++why)
    add_event(shard, r->escalated[why], began,
              std::string("escalated: ").append(wire::name_of(static_cast<wire::Reason>(why))),
              out);
  add_event(shard, r->float_retries, began, "asked for again as floats", out);
  add_event(shard, r->sent_up, began,
            job.config.parent ? "sent to the parent" : "sent to be verified", out);
  static constexpr std::array kMakers = {"result made here", "result of the completion engine",
                                         "result of the parent"};
  for (std::size_t by = 0; by < r->made.size(); ++by)
    add_event(shard, r->made[by], began, kMakers[by], out);
}

}  // namespace

std::vector<JobStatus> Engine::job_status(Instant now) const {
  std::vector<JobStatus> all;
  for (const auto& job : impl_->jobs) {
    for (std::uint32_t c = 0; c < job->child_map.count(); ++c) impl_->collect_last_heard(*job, c);
    const Membership& membership = job->membership;
    JobStatus s{
        job->config.id, membership.state(), membership.epoch(), job->last_abort.reason, {}, {}};
    const ShardJob& first = *impl_->shards[0]->find_job(job->place);
    for (std::uint32_t c = 0; c < job->child_map.count(); ++c) {
      const Member& m = membership.member(c);
      const bool here = m.present || m.joined;
      const auto ranks = job->child_map.ranks_of(c);
      s.members.push_back({job->child_map[c].id,
                           here,
                           m.peer,
                           here ? now - m.last_seen : Duration{},
                           first.table.held_before(static_cast<std::uint16_t>(c)),
                           job->child_map[c].is_switch,
                           {ranks.begin(), ranks.end()}});
    }
    if (job->upstream) s.upstream = upstream_status(*job->upstream, *job->config.parent);
    all.push_back(std::move(s));
  }
  return all;
}

std::vector<SlotStatus> Engine::slot_status(Instant now, std::size_t most, Slots which) const {
  std::vector<SlotStatus> all;
  for (const auto& shard : impl_->shards) shard->add_slots(now, most, which, all);
  return all;
}

std::vector<OpLine> Engine::op_lines(std::uint32_t id, std::uint32_t op) const {
  const Job* const job = impl_->job_index.find(id);
  if (job == nullptr) return {};
  // Times count from the first contribution to any shard.
  Instant began = Instant::max();
  for (const auto& shard : impl_->shards)
    if (const ShardJob* const part = shard->find_job(job->place))
      if (const OpRecord* const r = part->history.find(op)) began = std::min(began, r->began);
  std::vector<OpLine> lines;
  for (const auto& shard : impl_->shards)
    if (const ShardJob* const part = shard->find_job(job->place))
      add_op_lines(*part, shard->index(), op, began, lines);
  std::stable_sort(lines.begin(), lines.end(),
                   [](const OpLine& a, const OpLine& b) { return a.at < b.at; });
  return lines;
}

ChunkState Engine::chunk_state(std::size_t job, std::uint8_t shard, std::uint32_t seq) const {
  if (shard >= impl_->shards.size()) return ChunkState::unseen;
  const ShardJob* const part = impl_->shards[shard]->find_job(impl_->jobs[job]->place);
  return part == nullptr ? ChunkState::unseen : part->table.state_of(seq);
}

}  // namespace tributary::aggregator
