// What switches and ranks hold: slots, members, bounds in time, and that nothing is left at the
// end.
#include <algorithm>

#include "tests/sim/checker.h"

namespace tributary::sim {
namespace {

using wire::PacketType;

constexpr Duration kFullCheckPerRank = Duration::us(50);
constexpr Duration kRounding = Duration::ms(1);
constexpr Duration kLeaveBound = Duration::ms(3 * 20 + 5);

}  // namespace

void Checker::before_packet(SwitchNode& node, const FrameRef&, const wire::Packet& packet) {
  slots_before_ = slots_of(node, packet);
}

// Of a contribution to a job with dynamic slots.
std::optional<Checker::Slots> Checker::slots_of(const SwitchNode& node,
                                                const wire::Packet& packet) const {
  const wire::Header& h = packet.header;
  const auto job = index_of(h.job);
  if (h.type != PacketType::contribution || !job || h.shard >= jobs_[*job].scenario->shards ||
      jobs_[*job].scenario->sums.slots != config::SlotMode::dynamic)
    return std::nullopt;
  const auto* c = node.engine()->shard_counters(*node.place_of(h.job), h.shard);
  // A chunk whose slot was taken is counted the same way.
  return Slots{
      c->slots_open.get(),
      c->escalations[static_cast<std::size_t>(wire::Reason::no_slot)].get() - c->preemptions.get()};
}

// What a job is guaranteed it gets: an equal share of the pool, up to its quota (O7).
void Checker::check_slot_refusal(const SwitchNode& node, const wire::Packet& packet) {
  const auto after = slots_of(node, packet);
  if (!slots_before_ || !after || after->refused == slots_before_->refused) return;
  const JobScenario& job = *jobs_[*index_of(packet.header.job)].scenario;
  const std::uint32_t quota = job.sums.quota == 0 ? job.window : job.sums.quota;
  const std::uint32_t guaranteed = std::min(quota, scenario_.pool_slots / dynamic_jobs_);
  if (slots_before_->open < guaranteed)
    violation("job " + std::to_string(job.id) + " was refused a slot though it held " +
              std::to_string(slots_before_->open) + " of its " + std::to_string(guaranteed));
}

void Checker::on_turn_end(SwitchNode& node, Instant now) {
  if (!node.aggregates() || (!every_turn_ && world_->now() < next_full_check_)) return;
  next_full_check_ =
      world_->now() + kFullCheckPerRank * static_cast<std::int64_t>(all_ranks_.size());
  check_slots(node, now);
  check_members(node, now);
}

void Checker::check_slots(SwitchNode& node, Instant now) {
  const aggregator::Engine& engine = *node.engine();
  constexpr std::size_t kAll = 1u << 20;
  std::vector<std::uint64_t> open(jobs_.size());
  std::set<std::pair<std::uint8_t, std::uint32_t>> taken;  // of the shared ones
  for (const auto& slot : engine.slot_status(now, kAll)) {
    const std::uint32_t job = *index_of(slot.job);
    ++open[job];
    const bool dynamic = jobs_[job].scenario->sums.slots == config::SlotMode::dynamic;
    if (dynamic && !taken.emplace(slot.shard, slot.slot).second)
      violation("two chunks hold slot " + std::to_string(slot.slot) + " of shard " +
                std::to_string(slot.shard));
    if (slot.open_for >= node.job(slot.job)->deadline)
      violation("job " + std::to_string(slot.job) + " seq " + std::to_string(slot.seq) +
                " is open for " + std::to_string(slot.open_for.to_ns() / 1'000) +
                " us, past its deadline");
  }
  for (std::size_t place = 0; place < engine.job_count(); ++place) {
    const std::uint32_t i = *index_of(engine.job_config(place).id);
    const JobScenario& job = *jobs_[i].scenario;
    const auto& c = engine.counters(place);
    const std::uint64_t limit = std::uint64_t{job.window} * job.shards;
    if (c.slots_open.get() != open[i])
      violation("gauge slots_open says " + std::to_string(c.slots_open.get()) + ", but " +
                std::to_string(open[i]) + " are open");
    if (open[i] > limit || c.results_retained.get() > 2 * limit)
      violation("job " + std::to_string(job.id) + " holds more than its share");
  }
}

void Checker::check_members(SwitchNode& node, Instant now) {
  for (const auto& status : node.engine()->job_status(now)) {
    const JobScenario& job = *jobs_[*index_of(status.id)].scenario;
    for (const auto& m : status.members)
      if (m.present && m.silent_for >= job.lease)
        violation("job " + std::to_string(job.id) + " rank " + std::to_string(m.rank) +
                  " is silent for " + std::to_string(m.silent_for.to_ns() / 1'000'000) +
                  " ms, past its lease, and still counts");
  }
}

void Checker::check_bounds() {
  for (const auto& job : ranks_)
    for (const WorkerNode* node : job) {
      const worker::Session* session = node->session();
      if (session == nullptr || !world_->alive(node->id()) || world_->paused(node->id())) continue;
      const Instant now = world_->local_now(node->id());
      const JobScenario& scenario = *node->options().job;
      const auto overdue = [&](Instant since, Duration bound) {
        return now - since > bound + kRounding;
      };
      const auto state = session->state();
      if ((state == worker::SessionState::joining &&
           overdue(node->session_began(), scenario.join_timeout)) ||
          (state == worker::SessionState::running && !session->idle() &&
           overdue(node->turn_began(), scenario.op_timeout)) ||
          (state == worker::SessionState::leaving &&  // LEAVE is tried a number of times, however
                                                      // long the pauses between the tries.
           overdue(std::max(node->leave_began(), world_->resumed_at(node->id())), kLeaveBound)))
        violation(name(*node) + " is past its bound: it " + node->waiting_for(now));
    }
}

void Checker::check_empty() {
  for (const SwitchNode* node : aggregators_) check_empty(*node);
}

void Checker::check_empty(const SwitchNode& node) {
  const aggregator::Engine* engine = node.engine();
  if (engine == nullptr) return;
  for (std::size_t i = 0; i < engine->job_count(); ++i) {
    const auto& c = engine->counters(i);
    if (c.slots_open.get() + c.results_retained.get() + c.members.get() != 0)
      violation(node.name() + ": job " + std::to_string(engine->job_config(i).id) +
                " is over, but " + std::to_string(c.slots_open.get()) + " slots, " +
                std::to_string(c.results_retained.get()) + " results and " +
                std::to_string(c.members.get()) + " members are left");
  }
  for (std::size_t p = 0; p < node.tallies().size(); ++p) {
    const PortTally& t = node.tallies()[p];
    if (t.received != t.consumed + t.forwarded + t.answered + t.dropped ||
        t.to_send != t.sent + t.send_dropped)
      violation("port " + std::to_string(p) + " of " + node.name() + " lost count of its frames");
  }
}

}  // namespace tributary::sim
