#include "sim/rules/slot_checker.h"

#include <algorithm>

namespace tributary::sim {
namespace {

using aggregator::ChunkState;
using aggregator::Verdict;
using wire::PacketType;

bool is_data(const wire::Header& h) {
  return h.type == PacketType::contribution || h.type == PacketType::aggregate;
}

// Data went into the chunk's slot.
bool taken_in(Verdict verdict) {
  return verdict == Verdict::opened || verdict == Verdict::folded ||
         verdict == Verdict::completed || verdict == Verdict::sent_up;
}

std::string describe_chunk(std::uint32_t job, std::uint32_t seq) {
  return "seq " + std::to_string(seq) + " of job " + std::to_string(job);
}

}  // namespace

SlotChecker::SlotChecker(CheckedRun& run) : run_(run) {
  for (const JobScenario& job : run.scenario().jobs)
    if (job.sums.slots == config::SlotMode::dynamic) ++dynamic_jobs_;
}

void SlotChecker::before_packet(const SwitchNode& node, const wire::Packet& packet) {
  slots_before_ = slots_of(node, packet);
  held_before_.clear();
  if (dynamic_jobs_ < 2 || !is_data(packet.header)) return;
  held_before_ = held_in(node, packet.header.shard);
  met_before_ = met_at(node, packet.header.shard);
}

void SlotChecker::after_packet(const SwitchNode& node, const wire::Packet& packet,
                               aggregator::Decision decision) {
  check_refusal(node, packet);
  check_taken(node, packet, decision);
}

// Counters for a contribution to a job with dynamic slots; nullopt: another packet.
std::optional<SlotChecker::Slots> SlotChecker::slots_of(const SwitchNode& node,
                                                        const wire::Packet& packet) const {
  const wire::Header& h = packet.header;
  if (h.type != PacketType::contribution || !run_.index_of(h.job)) return std::nullopt;
  const JobScenario& job = run_.job(h.job);
  if (h.shard >= job.shards || job.sums.slots != config::SlotMode::dynamic) return std::nullopt;
  const auto place = node.place_of(h.job);
  if (!place) return std::nullopt;  // a job of other switches
  const auto* c = node.engine()->shard_counters(*place, h.shard);
  // A chunk whose slot was taken is counted the same way.
  return Slots{
      c->slots_open.get(),
      c->escalations[static_cast<std::size_t>(wire::Reason::no_slot)].get() - c->preemptions.get()};
}

std::uint32_t SlotChecker::guaranteed_slots(const JobScenario& job, std::uint32_t running) const {
  const std::uint32_t quota = job.sums.quota == 0 ? job.window : job.sums.quota;
  return std::min(quota, run_.scenario().pool_slots / running);
}

// Before this packet the owner held more than it is guaranteed, and the taker less.
bool SlotChecker::is_borrowed(const SwitchNode& node, std::uint8_t shard, const JobScenario& taker,
                              const JobScenario& owner) const {
  std::uint32_t running = 0;
  for (const JobScenario& job : run_.scenario().jobs)
    if (job.sums.slots == config::SlotMode::dynamic && shard < job.shards &&
        node.place_of(job.id) && node.engine()->running_epoch(job.id))
      ++running;
  const auto held = [&](const JobScenario& job) {
    return std::count_if(held_before_.begin(), held_before_.end(),
                         [&job](const HeldSlot& slot) { return slot.job == job.id; });
  };
  return held(owner) > guaranteed_slots(owner, running) &&
         held(taker) < guaranteed_slots(taker, running);
}

// A job always gets its guarantee: an equal share of the pool, up to its quota.
void SlotChecker::check_refusal(const SwitchNode& node, const wire::Packet& packet) {
  const auto after = slots_of(node, packet);
  // Fewer: a sum that waits for its result has lost its slot, which escalates nothing.
  if (!slots_before_ || !after ||
      static_cast<std::int64_t>(after->refused - slots_before_->refused) <= 0)
    return;
  const JobScenario& job = run_.job(packet.header.job);
  const std::uint32_t guaranteed = guaranteed_slots(job, dynamic_jobs_);
  if (slots_before_->open < guaranteed)
    run_.violation("job " + std::to_string(job.id) + " was refused a slot though it held " +
                   std::to_string(slots_before_->open) + " of its " + std::to_string(guaranteed));
}

// In the epoch that runs.
SlotChecker::ChunkAt SlotChecker::chunk_at(const SwitchNode& node, std::uint32_t job,
                                           std::uint8_t shard, std::uint32_t seq) {
  return {node.id(), {job, node.engine()->running_epoch(job).value_or(0), shard, seq}};
}

// The slots of a shard that dynamic jobs hold. A chunk that has lost its slot holds none any more.
std::vector<SlotChecker::HeldSlot> SlotChecker::held_in(const SwitchNode& node,
                                                        std::uint8_t shard) {
  constexpr std::size_t kAll = 1u << 20;
  std::vector<HeldSlot> held;
  for (const auto& s : node.engine()->slot_status(run_.world().local_now(node.id()), kAll)) {
    const JobScenario& job = run_.job(s.job);
    if (s.shard != shard || !s.holds_slot || job.sums.slots != config::SlotMode::dynamic) continue;
    held.push_back({s.job, s.seq, s.slot, s.op, s.sent});
    if (lost_slot_.contains(chunk_at(node, s.job, shard, s.seq)))
      run_.violation(describe_chunk(s.job, s.seq) + " holds a slot of " + node.name() +
                     " again after it was taken");
  }
  return held;
}

// Sums over all jobs, as the switch counts them.
SlotChecker::Met SlotChecker::met_at(const SwitchNode& node, std::uint8_t shard) {
  Met met;
  for (std::size_t place = 0; place < node.engine()->job_count(); ++place) {
    const auto* c = node.engine()->shard_counters(place, shard);
    if (c == nullptr) continue;
    met.preempted += c->preemptions.get();
    met.collided += c->collisions.get();
  }
  return met;
}

void SlotChecker::check_taken(const SwitchNode& node, const wire::Packet& packet,
                              aggregator::Decision decision) {
  const wire::Header& h = packet.header;
  if (dynamic_jobs_ < 2 || !is_data(h)) return;
  const std::vector<HeldSlot> after = held_in(node, h.shard);
  const Met met = met_at(node, h.shard);
  const std::uint64_t counted = met.preempted - met_before_.preempted;
  std::uint64_t taken = 0;
  for (const HeldSlot& slot : held_before_) {
    const bool kept = std::any_of(after.begin(), after.end(), [&](const HeldSlot& other) {
      return other.job == slot.job && other.seq == slot.seq;
    });
    // Its own chunks lose theirs in other ways, too: they complete, or the epoch ends.
    const bool other_way = slot.job == h.job && (slot.seq == h.seq || counted == 0);
    if (kept || other_way) continue;
    ++taken;
    check_taking(node, packet, slot);
  }
  // One packet opens one chunk, in one slot.
  if (taken > 1 || counted != taken)
    run_.violation(node.name() + " took " + std::to_string(taken) +
                   " slots with one packet of job " + std::to_string(h.job) + ", and counts " +
                   std::to_string(counted));
  const auto has_slot = [&h](const HeldSlot& slot) {
    return slot.job == h.job && slot.seq == h.seq;
  };
  const bool holds = std::any_of(after.begin(), after.end(), has_slot);
  if (taken != 0 && met.collided != met_before_.collided)
    run_.violation(node.name() + " took a slot for " + describe_chunk(h.job, h.seq) +
                   ", which did not get it");
  // An excluded child's data may have opened the chunk, though it went elsewhere.
  const bool opened = holds && std::none_of(held_before_.begin(), held_before_.end(), has_slot);
  if (opened || taken_in(decision.verdict))
    heard_[chunk_at(node, h.job, h.shard, h.seq)] = run_.world().local_now(node.id());
}

// A chunk has lost its slot to this packet's: one of another job, or of the same, which can meet
// itself where it changes its seed.
void SlotChecker::check_taking(const SwitchNode& node, const wire::Packet& packet,
                               const HeldSlot& lost) {
  const wire::Header& h = packet.header;
  const JobScenario& taker = run_.job(h.job);
  const JobScenario& owner = run_.job(lost.job);
  const std::string what = describe_chunk(lost.job, lost.seq) + " lost its slot at " + node.name() +
                           " to job " + std::to_string(h.job);
  const ChunkAt chunk = chunk_at(node, lost.job, h.shard, lost.seq);
  const auto heard = heard_.find(chunk);
  if (heard == heard_.end()) return run_.violation(what + ", though nothing had opened it");
  const Duration silent_for = run_.world().local_now(node.id()) - heard->second;
  const auto how = may_take(taker, owner, silent_for, is_borrowed(node, h.shard, taker, owner));
  if (!how)
    return run_.violation(what + " of priority " + std::to_string(taker.sums.priority) +
                          ": its own is " + std::to_string(owner.sums.priority) +
                          ", and its last contribution came " +
                          std::to_string(silent_for.to_ns() / 1'000) + " us ago");
  const std::uint32_t quota = taker.sums.quota == 0 ? taker.window : taker.sums.quota;
  const auto held = std::count_if(held_before_.begin(), held_before_.end(),
                                  [&](const HeldSlot& slot) { return slot.job == h.job; });
  if (static_cast<std::uint32_t>(held) >= quota)
    run_.violation(what + ", which held its whole quota of " + std::to_string(quota));
  const ChunkState state = node.chunk_state(lost.job, h.shard, lost.seq);
  if (state == ChunkState::open || state == ChunkState::unseen)
    run_.violation(what + " and goes on as if it had one");
  run_.reach().taken(*how);
  if (lost.sent) run_.reach().taken(TakenSlot::of_sum);
  if (run_.in_tree()) run_.reach().taken(TakenSlot::in_tree);
  lost_slot_.insert(chunk);
  robbed_ops_.insert({lost.job, chunk.chunk.epoch, lost.op});
}

std::optional<TakenSlot> SlotChecker::may_take(const JobScenario& taker, const JobScenario& owner,
                                               Duration silent_for, bool borrowed) const {
  if (owner.sums.priority > taker.sums.priority) return std::nullopt;
  const bool equal = owner.sums.priority == taker.sums.priority;
  if (run_.scenario().preempt_idle > Duration() && silent_for >= run_.scenario().preempt_idle)
    return equal ? TakenSlot::idle_equal : TakenSlot::idle_lower;
  if (borrowed) return TakenSlot::borrowed;
  return run_.scenario().preempt_busy && !equal ? std::optional(TakenSlot::busy_lower)
                                                : std::nullopt;
}

}  // namespace tributary::sim
