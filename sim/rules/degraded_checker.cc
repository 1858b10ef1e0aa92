#include "sim/rules/degraded_checker.h"

#include <algorithm>
#include <set>

#include "core/wire/degraded.h"
#include "core/wire/rank_bitmap.h"
#include "sim/network/packet_view.h"
#include "sim/scenario/network_plan.h"

namespace tributary::sim {
namespace {

constexpr Duration kOnTheWay = Duration::ms(50);

// Clocks run apart by at most a thousandth.
Duration at_least(Duration d) {
  return d - d / 500;
}

// By worker, over all jobs: whether some switch above it loses power.
std::vector<bool> workers_below_crashes(const Scenario& s) {
  std::set<std::string> down;
  for (const ScriptEntry& e : s.script)
    if (e.action == ScriptAction::crash && e.target == ScriptTarget::aggregator &&
        e.index < s.switches.size())
      down.insert(s.switches[e.index].name);
  // Each switch stands after its parent.
  for (const TreeSwitch& sw : s.switches)
    if (down.contains(sw.parent)) down.insert(sw.name);
  std::vector<bool> below(worker_count(s));
  if (down.empty()) return below;
  const auto homes = homes_of(s.switches, worker_count(s));
  for (std::size_t worker = 0; worker < below.size(); ++worker)
    below[worker] = down.contains(s.switches[homes[worker]].name);
  return below;
}

// Whether data that was sent arrives in time all the same. A switch that loses power loses only
// data of the ranks below it.
bool delays_nothing(const Scenario& s, const ScriptEntry& e) {
  switch (e.action) {
    case ScriptAction::pause: return e.target == ScriptTarget::worker;
    case ScriptAction::drain:
    case ScriptAction::exclude: return true;
    case ScriptAction::crash:
      return e.target == ScriptTarget::aggregator && e.index != 0 && e.index < s.switches.size();
    default: return false;
  }
}

// Nothing is lost, and only workers pause: a rank that is late has sent late.
bool is_punctual(const Scenario& s) {
  const LinkQuality& l = s.links;
  return s.changes.empty() && s.hostile.packets == 0 && s.hostile.faulty_ppm == 0 &&
         s.backlog_frames >= 64 && !s.lose_first_between_switches && !s.lose_first_contributions &&
         !(s.servers.count > 0 && s.servers.tight) &&
         l.loss_ppm + l.corrupt_ppm + l.stray_ppm == 0 && l.bits_per_second == 0 &&
         l.reorder_delay_max <= Duration::ms(5) &&
         std::all_of(s.script.begin(), s.script.end(),
                     [&](const ScriptEntry& e) { return delays_nothing(s, e); });
}

}  // namespace

DegradedChecker::DegradedChecker(CheckedRun& run)
    : run_(run), punctual_(is_punctual(run.scenario())) {
  const std::vector<bool> cut_off = workers_below_crashes(run.scenario());
  auto worker = cut_off.begin();
  for (const JobScenario& job : run.scenario().jobs) {
    jobs_.push_back({{}, {worker, worker + job.workers}});
    worker += job.workers;
  }
}

void DegradedChecker::contribution_sent(const WorkerNode& node, const FrameRef& frame) {
  const WorkerOptions& o = node.options();
  if (!o.job->degraded_after) return;
  if (const auto packet = view_packet(frame.bytes()))
    contribution_sent(o.job_index, o.rank, packet->header);
}

void DegradedChecker::contribution_sent(std::uint32_t job_index, std::uint32_t rank,
                                        const wire::Header& h) {
  Waited& chunk = jobs_[job_index].chunks[{h.epoch, h.op, h.chunk, h.seq}];
  chunk.sent.resize(run_.scenario().jobs[job_index].workers);
  auto& at = chunk.sent[rank];
  if (!at) at = run_.world().now();
}

void DegradedChecker::check_result(const std::string& node, const aggregator::Outgoing& result) {
  const wire::Header& h = result.header;
  const std::uint32_t index = *run_.index_of(h.job);
  const JobScenario& job = run_.scenario().jobs[index];
  const bool degraded = (h.flags & wire::kFlagDegraded) != 0;
  const std::string which = node + ": the result of job " + std::to_string(h.job) + " op " +
                            std::to_string(h.op) + " chunk " + std::to_string(h.chunk);
  if (!job.degraded_after) {
    if (degraded) run_.violation(which + " lacks ranks, which its job does not allow");
    return;
  }
  std::vector<std::uint64_t> missing(wire::rank_words(job.workers));
  if (degraded) {
    const auto counted = wire::read_degraded_list(result.extension_span(), job.workers, missing);
    if (!counted || *counted != h.covered) return run_.violation(which + " has no true list");
  }
  Waited& chunk = jobs_[index].chunks[{h.epoch, h.op, h.chunk, h.seq}];
  if (chunk.missing) {
    if (*chunk.missing != missing) run_.violation(which + " has two lists of missing ranks");
    return;
  }
  chunk.missing = missing;
  if (degraded) check_wait(job, jobs_[index], h, chunk);
}

// No rank is left out early; and where all packets arrive, none that has sent in time.
void DegradedChecker::check_wait(const JobScenario& job, const JobWaits& waits,
                                 const wire::Header& result, const Waited& chunk) {
  const Instant now = run_.world().now();
  const std::string which = "job " + std::to_string(job.id) + " op " + std::to_string(result.op) +
                            " chunk " + std::to_string(result.chunk);
  Instant first = now;
  for (const auto& sent : chunk.sent)
    if (sent) first = std::min(first, *sent);
  if (now - first < at_least(*job.degraded_after))
    run_.violation(which + " waited for its ranks for " +
                   std::to_string((now - first).to_ns() / 1'000'000) + " ms only");
  if (!punctual_) return;
  // A chunk two windows ahead of the slowest rank is sent again when a probe finds room.
  const bool ahead = result.seq - run_.scenario().first_seq >= 2 * job.window;
  // A switch may send at its deadline what it has had all the while.
  Duration slack = job.deadline + kOnTheWay;
  if (ahead) slack = std::max(slack, *job.degraded_after + kOnTheWay);
  slack = slack + delay_of_tree(run_.scenario(), job);
  for (std::uint32_t rank = 0; rank < chunk.sent.size(); ++rank) {
    const bool listed = ((*chunk.missing)[rank / 64] >> (rank % 64) & 1) != 0;
    if (listed && !waits.cut_off[rank] && chunk.sent[rank] && now - *chunk.sent[rank] > slack)
      run_.violation(which + " was made without rank " + std::to_string(rank) + ", which sent it " +
                     std::to_string((now - *chunk.sent[rank]).to_ns() / 1'000'000) + " ms before");
  }
}

DegradedChecker::MissingByChunk DegradedChecker::missing_of(std::uint32_t job_index,
                                                            std::uint32_t epoch, std::uint32_t op,
                                                            std::uint32_t rank) const {
  const auto& chunks = jobs_[job_index].chunks;
  MissingByChunk missing;
  for (auto at = chunks.lower_bound({epoch, op, 0, 0});
       at != chunks.end() && at->first.epoch == epoch && at->first.op == op; ++at) {
    const Waited& chunk = at->second;
    if (!chunk.missing) continue;
    const bool sent = rank < chunk.sent.size() && chunk.sent[rank];
    const auto [known, fresh] = missing.try_emplace(at->first.chunk, *chunk.missing);
    if (!fresh && sent) known->second = *chunk.missing;
  }
  return missing;
}

std::optional<std::string> DegradedChecker::wrong_list(std::uint32_t job_index,
                                                       const MissingByChunk& missing,
                                                       const OpResult& result) const {
  std::vector<std::uint64_t> all(wire::rank_words(run_.scenario().jobs[job_index].workers));
  for (const auto& [chunk, ranks] : missing)
    for (std::size_t i = 0; i < all.size(); ++i) all[i] |= ranks[i];
  std::vector<std::uint64_t> told(result.left_out.begin(), result.left_out.end());
  told.resize(all.size());
  if (told == all) return std::nullopt;
  return "is told of other missing ranks than its chunks lack";
}

}  // namespace tributary::sim
