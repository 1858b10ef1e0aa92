#include "sim/rules/resource_checker.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

namespace tributary::sim {
namespace {

// With more ranks than this, looking at all of them after each turn would take most of the time; so
// they are looked at in intervals, the longer the more there are.
constexpr std::size_t kMostRanksEveryTurn = 64;
constexpr Duration kFullCheckPerRank = Duration::us(50);
constexpr Duration kRounding = Duration::ms(1);
constexpr Duration kLeaveBound = Duration::ms(3 * 20 + 5);
constexpr Duration kLeaveForGoodBound = Duration::ms(100 * 20 + 5);

}  // namespace

void ResourceChecker::turn_ended(const SwitchNode& node, Instant now) {
  const std::size_t ranks = run_.all_ranks().size();
  const Instant world_now = run_.world().now();
  if (!node.aggregates() || (ranks > kMostRanksEveryTurn && world_now < next_check_)) return;
  next_check_ = world_now + kFullCheckPerRank * static_cast<std::int64_t>(ranks);
  check_slots(node, now);
  check_members(node, now);
}

void ResourceChecker::check_slots(const SwitchNode& node, Instant now) {
  const aggregator::Engine& engine = *node.engine();
  constexpr std::size_t kAll = 1u << 20;
  std::vector<std::uint64_t> open(run_.scenario().jobs.size());
  std::set<std::pair<std::uint8_t, std::uint32_t>> taken;  // of the shared ones
  for (const auto& slot : engine.slot_status(now, kAll)) {
    const std::uint32_t job = *run_.index_of(slot.job);
    ++open[job];
    const bool dynamic = run_.scenario().jobs[job].sums.slots == config::SlotMode::dynamic;
    if (dynamic && !taken.emplace(slot.shard, slot.slot).second)
      run_.violation("two chunks hold slot " + std::to_string(slot.slot) + " of shard " +
                     std::to_string(slot.shard));
    if (slot.open_for >= node.job(slot.job)->deadline)
      run_.violation("job " + std::to_string(slot.job) + " seq " + std::to_string(slot.seq) +
                     " is open for " + std::to_string(slot.open_for.to_ns() / 1'000) +
                     " us, past its deadline");
  }
  for (std::size_t place = 0; place < engine.job_count(); ++place) {
    const std::uint32_t i = *run_.index_of(engine.job_config(place).id);
    const JobScenario& job = run_.scenario().jobs[i];
    const auto& c = engine.counters(place);
    const std::uint64_t limit = std::uint64_t{job.window} * job.shards;
    if (c.slots_open.get() != open[i])
      run_.violation("gauge slots_open says " + std::to_string(c.slots_open.get()) + ", but " +
                     std::to_string(open[i]) + " are open");
    if (open[i] > limit || c.results_retained.get() > 2 * limit)
      run_.violation("job " + std::to_string(job.id) + " holds more than its share");
  }
}

void ResourceChecker::check_members(const SwitchNode& node, Instant now) {
  for (const auto& status : node.engine()->job_status(now)) {
    const JobScenario& job = run_.job(status.id);
    for (const auto& m : status.members)
      if (m.present && m.silent_for >= job.lease)
        run_.violation("job " + std::to_string(job.id) + " rank " + std::to_string(m.rank) +
                       " is silent for " + std::to_string(m.silent_for.to_ns() / 1'000'000) +
                       " ms, past its lease, and still counts");
  }
}

void ResourceChecker::check_bounds() {
  for (const WorkerNode* node : run_.all_ranks()) {
    const worker::Session* session = node->session();
    if (session == nullptr || !run_.world().alive(node->id()) || run_.world().paused(node->id()))
      continue;
    const Instant now = run_.world().local_now(node->id());
    const JobScenario& scenario = *node->options().job;
    const auto overdue = [&](Instant since, Duration bound) {
      return now - since > bound + kRounding;
    };
    const auto state = session->state();
    if ((state == worker::SessionState::joining &&
         overdue(node->times().session_began, scenario.join_timeout)) ||
        (state == worker::SessionState::running && !session->idle() &&
         overdue(node->times().turn_began, scenario.op_timeout)) ||
        (state == worker::SessionState::leaving &&  // LEAVE is tried a number of times, however
                                                    // long the pauses between the tries.
         overdue(std::max(node->times().leave_began, run_.world().resumed_at(node->id())),
                 node->has_left() ? kLeaveForGoodBound : kLeaveBound)))
      run_.violation(node->name() + " is past its bound: it " + node->waiting_for(now));
  }
}

void ResourceChecker::check_empty() {
  for (const SwitchNode* node : run_.aggregators()) {
    check_empty(*node);
    check_no_request_waits(*node);
    if (const auto* const hosted = node->hosted())
      for (std::size_t job = 0; job < hosted->job_count(); ++job)
        check_empty(node->name(), hosted->server(job));
  }
  for (const ServerNode* node : run_.servers())
    if (node->server() != nullptr) check_empty(node->name(), *node->server());
}

void ResourceChecker::check_no_request_waits(const SwitchNode& node) {
  if (const auto* const names = node.names(); names != nullptr && names->pending() != 0)
    run_.violation(node.name() + ": all nodes are gone, but " + std::to_string(names->pending()) +
                   " requests for names wait");
}

void ResourceChecker::check_empty(const std::string& name, const completion::Server& server) {
  for (std::size_t seat = 0; seat < server.seat_count(); ++seat)
    if (const auto& c = server.engine(seat).counters(0);
        c.chunks_open.get() + c.bytes_held.get() != 0)
      run_.violation(name + ": all nodes are gone, but it still holds " +
                     std::to_string(c.bytes_held.get()) + " bytes");
}

void ResourceChecker::check_empty(const SwitchNode& node) {
  const aggregator::Engine* engine = node.engine();
  if (engine == nullptr) return;
  for (std::size_t i = 0; i < engine->job_count(); ++i) {
    const auto& c = engine->counters(i);
    if (c.slots_open.get() + c.results_retained.get() + c.members.get() != 0)
      run_.violation(node.name() + ": job " + std::to_string(engine->job_config(i).id) +
                     " is over, but " + std::to_string(c.slots_open.get()) + " slots, " +
                     std::to_string(c.results_retained.get()) + " results and " +
                     std::to_string(c.members.get()) + " members are left");
  }
  for (std::size_t p = 0; p < node.ports().tallies().size(); ++p) {
    const PortTally& t = node.ports().tallies()[p];
    // Servers go on saying hello when all other nodes are gone.
    const std::uint64_t waiting = node.turns().waiting_at(static_cast<std::uint16_t>(p));
    if (t.received != t.consumed + t.forwarded + t.answered + t.dropped + waiting ||
        t.to_send != t.sent + t.send_dropped)
      run_.violation("port " + std::to_string(p) + " of " + node.name() +
                     " lost count of its frames");
  }
}

}  // namespace tributary::sim
