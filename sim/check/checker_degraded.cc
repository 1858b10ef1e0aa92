// Results that lack ranks (rule 21): only where the job allows it, after the wait that it allows,
// with one list for all, and made of exactly the ranks that the list does not name.
#include <algorithm>
#include <set>
#include <string>

#include "core/wire/degraded.h"
#include "core/wire/rank_bitmap.h"
#include "sim/check/checker.h"
#include "sim/network/packet_view.h"
#include "sim/scenario/network_plan.h"

namespace tributary::sim {
namespace {

// A switch may send at its deadline what it has had all the while; in a tree each level adds to it.
constexpr std::int64_t kMostLevels = 8;
constexpr Duration kOnTheWay = Duration::ms(50);

// Clocks run apart by at most a thousandth.
Duration at_least(Duration d) {
  return d - d / 500;
}

}  // namespace

// By worker, over all jobs: whether some switch above it loses power.
std::vector<bool> Checker::workers_below_crashes(const Scenario& s) {
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

void Checker::note_sent(const WorkerNode& node, const FrameRef& frame) {
  JobView& view = jobs_[node.options().job_index];
  if (!view.scenario->degraded_after) return;
  const auto packet = view_packet(frame.bytes());
  if (!packet) return;
  const wire::Header& h = packet->header;
  Waited& chunk = view.waited[{h.epoch, h.op, h.chunk, h.seq}];
  chunk.sent.resize(view.scenario->workers);
  auto& at = chunk.sent[node.options().rank];
  if (!at) at = world_->now();
}

void Checker::check_list(const std::string& node, const aggregator::Outgoing& result) {
  const wire::Header& h = result.header;
  JobView& view = jobs_[*index_of(h.job)];
  const bool degraded = (h.flags & wire::kFlagDegraded) != 0;
  const std::string which = node + ": the result of job " + std::to_string(h.job) + " op " +
                            std::to_string(h.op) + " chunk " + std::to_string(h.chunk);
  if (!view.scenario->degraded_after) {
    if (degraded) violation(which + " lacks ranks, which its job does not allow");
    return;
  }
  std::vector<std::uint64_t> missing(wire::rank_words(view.scenario->workers));
  if (degraded) {
    const auto counted =
        wire::read_degraded_list(result.extension_span(), view.scenario->workers, missing);
    if (!counted || *counted != h.covered) return violation(which + " has no true list");
  }
  Waited& chunk = view.waited[{h.epoch, h.op, h.chunk, h.seq}];
  if (chunk.missing) {
    if (*chunk.missing != missing) violation(which + " has two lists of missing ranks");
    return;
  }
  chunk.missing = missing;
  if (degraded) check_wait(view, h, chunk);
}

// No rank is left out early; and where all packets arrive, none that has sent in time.
void Checker::check_wait(const JobView& view, const wire::Header& result, const Waited& chunk) {
  const JobScenario& job = *view.scenario;
  const Instant now = world_->now();
  const std::string which = "job " + std::to_string(job.id) + " op " + std::to_string(result.op) +
                            " chunk " + std::to_string(result.chunk);
  Instant first = now;
  for (const auto& sent : chunk.sent)
    if (sent) first = std::min(first, *sent);
  if (now - first < at_least(*job.degraded_after))
    violation(which + " waited for its ranks for " +
              std::to_string((now - first).to_ns() / 1'000'000) + " ms only");
  if (!punctual_) return;
  // A chunk two windows ahead of the slowest rank is sent again when a probe finds room.
  const bool ahead = result.seq - scenario_.first_seq >= 2 * job.window;
  Duration slack = job.deadline + kOnTheWay;
  if (ahead) slack = std::max(slack, *job.degraded_after + kOnTheWay);
  if (scenario_.switches.size() > 1 || scenario_.fat_tree.levels > 1)
    slack = slack + std::max(job.deadline / 8, Duration::ms(100)) * kMostLevels;
  for (std::uint32_t rank = 0; rank < chunk.sent.size(); ++rank) {
    const bool listed = ((*chunk.missing)[rank / 64] >> (rank % 64) & 1) != 0;
    if (listed && !view.cut_off[rank] && chunk.sent[rank] && now - *chunk.sent[rank] > slack)
      violation(which + " was made without rank " + std::to_string(rank) + ", which sent it " +
                std::to_string((now - *chunk.sent[rank]).to_ns() / 1'000'000) + " ms before");
  }
}

// A rank that has not heard START yet is a member all the same, and may be late.
bool Checker::all_inside_entered(const Members& members, const OpResult& result) {
  for (std::uint32_t rank = 0; rank < members.salts.size(); ++rank) {
    const bool missing =
        !result.left_out.empty() && (result.left_out[rank / 64] >> (rank % 64) & 1) != 0;
    if (!members.salts[rank] && !missing) return false;
  }
  return true;
}

// As this rank has the op's chunks: where there are several of a number, those that it sent.
Checker::MissingByChunk Checker::missing_of(const JobView& view, std::uint32_t epoch,
                                            std::uint32_t op, std::uint32_t rank) {
  MissingByChunk missing;
  for (auto at = view.waited.lower_bound({epoch, op, 0, 0});
       at != view.waited.end() && at->first.epoch == epoch && at->first.op == op; ++at) {
    const Waited& chunk = at->second;
    if (!chunk.missing) continue;
    const bool sent = rank < chunk.sent.size() && chunk.sent[rank];
    const auto [known, fresh] = missing.try_emplace(at->first.chunk, *chunk.missing);
    if (!fresh && sent) known->second = *chunk.missing;
  }
  return missing;
}

// A rank is told of exactly those that some chunk of the op lacks.
std::optional<std::string> Checker::wrong_list(const JobView& view, const MissingByChunk& missing,
                                               const OpResult& result) {
  std::vector<std::uint64_t> all(wire::rank_words(view.scenario->workers));
  for (const auto& [chunk, ranks] : missing)
    for (std::size_t i = 0; i < all.size(); ++i) all[i] |= ranks[i];
  std::vector<std::uint64_t> told(result.left_out.begin(), result.left_out.end());
  told.resize(all.size());
  if (told == all) return std::nullopt;
  return "is told of other missing ranks than its chunks lack";
}

}  // namespace tributary::sim
