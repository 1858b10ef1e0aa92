// State of switches and ranks: slots, members, bounds in time, and that nothing is left at the end.
// checker_slots.cc checks which jobs get and lose slots.
#include <algorithm>

#include "sim/check/checker.h"
#include "sim/network/packet_view.h"

namespace tributary::sim {
namespace {

using wire::PacketType;

constexpr Duration kFullCheckPerRank = Duration::us(50);
constexpr Duration kRounding = Duration::ms(1);
constexpr Duration kLeaveBound = Duration::ms(3 * 20 + 5);
constexpr Duration kLeaveForGoodBound = Duration::ms(100 * 20 + 5);

}  // namespace

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

// Rule 5: a term is one host's alone, and terms only grow.
void Checker::check_appointment(const SwitchNode& node, const aggregator::Outgoing& start) {
  const wire::Header& h = start.header;
  Appointment& last = jobs_[*index_of(h.job)].hosts[h.shard];
  const auto info = wire::find_start_info(start.extension_span());
  const Appointment now{ipv4_of(start.peer.node()), info->host_term,
                        *wire::find_nonce(start.extension_span())};
  if (now.nonce == last.nonce &&
      (now.term < last.term || (now.term == last.term && now.host != last.host)))
    violation(node.name() + " appoints a second host under term " + std::to_string(now.term));
  last = now;
}

// Rule 5: a result counts under the term that holds.
void Checker::check_host_result(const SwitchNode& node, const wire::Packet& packet) {
  const Appointment& last = jobs_[*index_of(packet.header.job)].hosts[packet.header.shard];
  const auto info = wire::find_result_info(packet.extensions);
  if (!info || info->host_term != last.term)
    violation(node.name() + " took a result of a term that does not hold");
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
           overdue(std::max(node->leave_began(), world_->resumed_at(node->id())),
                   node->has_left() ? kLeaveForGoodBound : kLeaveBound)))
        violation(name(*node) + " is past its bound: it " + node->waiting_for(now));
    }
}

void Checker::check_empty() {
  for (const SwitchNode* node : aggregators_) {
    check_empty(*node);
    check_no_request_waits(*node);
    if (const auto* const hosted = node->hosted())
      for (std::size_t job = 0; job < hosted->job_count(); ++job)
        check_empty(node->name(), hosted->server(job));
  }
  for (const ServerNode* node : servers_)
    if (node->server() != nullptr) check_empty(node->name(), *node->server());
}

void Checker::check_empty(const std::string& name, const completion::Server& server) {
  for (std::size_t seat = 0; seat < server.seat_count(); ++seat)
    if (const auto& c = server.engine(seat).counters(0);
        c.chunks_open.get() + c.bytes_held.get() != 0)
      violation(name + ": all nodes are gone, but it still holds " +
                std::to_string(c.bytes_held.get()) + " bytes");
}

void Checker::count_engines(const completion::Server& server) {
  for (std::size_t seat = 0; seat < server.seat_count(); ++seat)
    reach_.counters(server.engine(seat));
}

void Checker::on_server_crash(ServerNode& node) {
  count_engines(*node.server());
  for (JobView& job : jobs_) job.model.server_crashed();
}

void Checker::on_server_drop(ServerNode& node, const FrameRef& frame, DropReason reason) {
  check_host_drop(node.name(), frame, reason);
}

// A root's packets are right, but may be late, or of a term that is over.
void Checker::check_host_drop(const std::string& name, const FrameRef& frame, DropReason reason) {
  if (reason == DropReason::no_slot) last_overfull_ = world_->now();
  if (reason != DropReason::overlap) reach_.server_drops[static_cast<std::size_t>(reason)] += 1;
  if (frame.truth().forged || frame.truth().corrupted) return;
  switch (reason) {
    case DropReason::duplicate:
    case DropReason::overlap:
    case DropReason::no_slot:
    case DropReason::not_joined:
    case DropReason::stale_seq:
    case DropReason::stale_epoch:
    case DropReason::stale_term: return;
    case DropReason::op_mismatch:
      // A probe is compared with what another rank has sent.
      if (const auto packet = view_packet(frame.bytes());
          packet && index_of(packet->header.job) &&
          jobs_[*index_of(packet->header.job)].scenario->disagree)
        return;
      [[fallthrough]];
    default:
      violation(name + " refused an intact packet (" + drop_label(reason) +
                "): " + describe_frame(frame.bytes()));
  }
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
    // Servers go on saying hello when all other nodes are gone.
    const std::uint64_t waiting = node.waiting_at(static_cast<std::uint16_t>(p));
    if (t.received != t.consumed + t.forwarded + t.answered + t.dropped + waiting ||
        t.to_send != t.sent + t.send_dropped)
      violation("port " + std::to_string(p) + " of " + node.name() + " lost count of its frames");
  }
}

}  // namespace tributary::sim
