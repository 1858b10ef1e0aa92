#include "tests/sim/checker.h"

#include <algorithm>

#include "tests/sim/packet_view.h"

namespace tributary::sim {
namespace {

using aggregator::ChunkState;
using aggregator::Verdict;
using wire::PacketType;

// From the end of the faults until their last consequence is gone: the longest back-off of a
// probe, and what is still on its way.
constexpr Duration kAftermath = Duration::seconds(2);
constexpr std::size_t kRemembered = 16;
// With more ranks than this, looking at all of them after each turn would take most of the time.
constexpr std::size_t kMostRanksEveryTurn = 64;
constexpr Duration kFullCheckInterval = Duration::ms(5);
constexpr Duration kRounding = Duration::ms(1);
constexpr Duration kLeaveBound = Duration::ms(3 * 20 + 5);

std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t salt) {
  Trace t;
  t.add(Instant::from_ns(static_cast<std::int64_t>(salt)), 0, TraceKind::op_done, bytes);
  return t.hash();
}

bool names_chunk(PacketType type) {
  return type == PacketType::contribution || type == PacketType::result ||
         type == PacketType::aggregate || type == PacketType::probe ||
         type == PacketType::pending || type == PacketType::unknown || type == PacketType::ack;
}

// What only the switch above may say. (ACK may be a member's own, too.)
bool is_from_above(PacketType type) {
  return type == PacketType::start || type == PacketType::result || type == PacketType::pending ||
         type == PacketType::unknown || type == PacketType::nack || type == PacketType::abort;
}

// Nothing happens that patience would not repair: no epoch may fail at all.
bool benign(const Scenario& s) {
  const LinkQuality& l = s.links;
  const bool patient = std::all_of(s.jobs.begin(), s.jobs.end(), [](const JobScenario& job) {
    return job.deadline >= Duration::seconds(1) && job.lease >= Duration::seconds(1) &&
           job.op_timeout >= Duration::seconds(3) && job.join_timeout >= Duration::seconds(8);
  });
  return s.script.empty() && s.hostile.packets == 0 && l.loss_ppm + l.corrupt_ppm <= 10'000 &&
         l.reorder_delay_max <= Duration::ms(5) && l.bits_per_second == 0 && patient;
}

// At the root of a tree deadlines are longer: an eighth, at least 100 ms, a level.
Duration deadline_at_most(const Scenario& s, const JobScenario& job) {
  if (s.switches.size() < 2 && s.fat_tree.levels < 2) return job.deadline;
  constexpr std::int64_t kMostLevels = 8;
  return job.deadline + std::max(job.deadline / 8, Duration::ms(100)) * kMostLevels;
}

// What an honest packet may be refused for: it is late, or its epoch is over.
bool excusable(DropReason reason, bool may_disagree) {
  switch (reason) {
    case DropReason::duplicate:
    case DropReason::stale_seq:
    case DropReason::stale_epoch:
    case DropReason::not_joined:
    case DropReason::sender_mismatch:
    case DropReason::aborted: return true;
    case DropReason::op_mismatch: return may_disagree;
    default: return false;
  }
}

}  // namespace

Checker::Checker(const Scenario& scenario) : scenario_(scenario), random_(scenario.seed ^ 0xBAD) {
  Duration longest;
  for (const JobScenario& job : scenario.jobs) {
    longest = std::max({longest, job.lease, deadline_at_most(scenario, job)});
    JobView view;
    view.scenario = &job;
    view.last_seq.assign(job.shards, scenario.first_seq - 1);
    jobs_.push_back(std::move(view));
  }
  if (!benign(scenario)) settled_at_ = Instant() + scenario.heal_at + longest + kAftermath;
}

void Checker::watch(World& world, std::span<SwitchNode* const> aggregators,
                    std::vector<std::vector<WorkerNode*>> ranks) {
  world_ = &world;
  aggregators_.assign(aggregators.begin(), aggregators.end());
  ranks_ = std::move(ranks);
  for (const auto& job : ranks_) all_ranks_.insert(all_ranks_.end(), job.begin(), job.end());
  every_turn_ = all_ranks_.size() <= kMostRanksEveryTurn;
}

void Checker::violation(const std::string& what) {
  world_->fail(what);
}

std::string Checker::name(const WorkerNode& node) const {
  return node.name();
}

std::optional<std::uint32_t> Checker::index_of(std::uint32_t job) const {
  for (std::uint32_t i = 0; i < jobs_.size(); ++i)
    if (jobs_[i].scenario->id == job) return i;
  return std::nullopt;
}

void Checker::before_packet(SwitchNode&, const FrameRef&, const wire::Packet&) {}

void Checker::on_decision(SwitchNode& node, const FrameRef& frame, const wire::Packet& packet,
                          aggregator::Decision decision) {
  reach_.verdict(decision.verdict);
  const auto job = index_of(packet.header.job);
  if (!job) return;
  if (decision.verdict == Verdict::opened || decision.verdict == Verdict::completed ||
      decision.verdict == Verdict::sent_up) {
    auto& last = jobs_[*job].last_seq[packet.header.shard];
    if (seq_before(last, packet.header.seq)) last = packet.header.seq;
  }
  if (frame.truth().forged) {
    const bool taken = decision.verdict != Verdict::dropped && decision.verdict != Verdict::refused;
    if (taken && is_from_above(packet.header.type))
      violation("a forged packet passed for one of the switch above: " +
                describe_frame(frame.bytes()));
    if (decision.verdict == Verdict::opened || decision.verdict == Verdict::folded ||
        decision.verdict == Verdict::completed || decision.verdict == Verdict::sent_up ||
        decision.verdict == Verdict::epoch_aborted)
      violation("a forged packet was taken for true: " + describe_frame(frame.bytes()));
    return;
  }
  if (frame.truth().corrupted) {
    // Only the headers around a packet that a CRC32C covers may be broken without notice; those
    // decide who it comes from, never what it says.
    return;
  }
  check_honest(node, packet, decision);
}

const WorkerNode* Checker::sender_of(const SwitchNode& node, const wire::Packet& packet) const {
  const wire::Header& h = packet.header;
  if (h.type != PacketType::contribution && h.type != PacketType::probe) return nullptr;
  const config::JobConfig* const job = node.job(h.job);
  if (job == nullptr) return nullptr;
  if (!job->children.empty() &&
      (h.child >= job->children.size() || job->children[h.child].is_switch))
    return nullptr;
  return ranks_[*index_of(h.job)][h.origin];
}

const SwitchNode* Checker::switch_below(const SwitchNode& node, const wire::Packet& packet) const {
  const config::JobConfig* const job = node.job(packet.header.job);
  const std::uint16_t child = packet.header.child;
  if (job == nullptr || child >= job->children.size() || !job->children[child].is_switch)
    return nullptr;
  const auto found = std::find_if(
      aggregators_.begin(), aggregators_.end(),
      [&](const SwitchNode* s) { return s->config().ipv4 == job->children[child].ipv4; });
  return found == aggregators_.end() ? nullptr : *found;
}

void Checker::check_honest(const SwitchNode& at, const wire::Packet& packet,
                           aggregator::Decision decision) {
  const wire::Header& h = packet.header;
  const std::uint32_t job = *index_of(h.job);
  const bool disagree = jobs_[job].scenario->disagree;
  if (decision.reason == DropReason::count_) return;
  if (!excusable(decision.reason, disagree))
    return violation(at.name() + ": an honest " + wire::name_of(h.type) + " of job " +
                     std::to_string(h.job) + " rank " + std::to_string(h.origin) +
                     " was refused: " + drop_label(decision.reason));
  if (decision.reason != DropReason::stale_seq) return;
  check_not_given_up(at, packet);
}

// Rule 4: what is forgotten here, its sender has.
void Checker::check_not_given_up(const SwitchNode& at, const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  if (const SwitchNode* const below = switch_below(at, packet)) {
    const auto place = below->place_of(h.job);
    if (below->engine() == nullptr || !place) return;
    const auto status = below->engine()->job_status(world_->local_now(below->id()))[*place];
    if (status.state != aggregator::JobState::running || status.epoch != h.epoch) return;
    if (below->chunk_state(h.job, h.shard, h.seq) == ChunkState::sent)
      violation(at.name() + " gave up seq " + std::to_string(h.seq) + " of shard " +
                std::to_string(h.shard) + " that " + below->name() + " still lacks");
    return;
  }
  const WorkerNode* const sender = sender_of(at, packet);
  if (sender == nullptr) return;
  const WorkerNode& node = *sender;
  const worker::Session* session = node.session();
  if (session == nullptr || session->state() != worker::SessionState::running) return;
  if (session->epoch() != h.epoch || node.holds(h.shard, h.seq)) return;
  violation("the switch gave up seq " + std::to_string(h.seq) + " of shard " +
            std::to_string(h.shard) + " that " + name(node) + " still lacks");
}

void Checker::on_refused(SwitchNode& node, const FrameRef& frame, DropReason reason) {
  if (frame.truth().forged || frame.truth().corrupted) return;
  // A switch answers where a packet says that it came from, which may have been broken.
  if (reason == DropReason::unhandled && is_from_aggregator(frame)) return;
  violation(node.name() + " refused an intact frame (" + drop_label(reason) +
            "): " + describe_frame(frame.bytes()));
}

void Checker::on_message(SwitchNode& node, const aggregator::Outgoing& message) {
  const wire::Header& h = message.header;
  const auto job = index_of(h.job);
  if (!job) return;
  JobView& view = jobs_[*job];
  const config::JobConfig* const config = node.job(h.job);
  const bool is_root = config == nullptr || !config->parent;
  if (h.type == PacketType::start && h.epoch != view.epoch && is_root) {
    view.epoch = h.epoch;
    view.last_seq.assign(view.scenario->shards, scenario_.first_seq - 1);
    result_bits_.clear();
  }
  if (h.type != PacketType::result) return;
  const ChunkKey key{h.job, h.epoch, h.shard, h.seq};
  const std::uint64_t salt = std::uint64_t{h.op} << 32 | h.chunk;
  const std::uint64_t bits = hash_of(message.payload, salt >> 1);
  const auto [known, fresh] = result_bits_.try_emplace(key, bits);
  if (!fresh && known->second != bits)
    violation(node.name() + " sent two results for job " + std::to_string(h.job) + " shard " +
              std::to_string(h.shard) + " seq " + std::to_string(h.seq));
}

void Checker::on_turn_end(SwitchNode& node, Instant now) {
  if (!node.aggregates() || (!every_turn_ && world_->now() < next_full_check_)) return;
  next_full_check_ = world_->now() + kFullCheckInterval;
  check_slots(node, now);
  check_members(node, now);
}

void Checker::check_slots(SwitchNode& node, Instant now) {
  const aggregator::Engine& engine = *node.engine();
  constexpr std::size_t kAll = 1u << 20;
  std::vector<std::uint64_t> open(jobs_.size());
  for (const auto& slot : engine.slot_status(now, kAll)) {
    const std::uint32_t job = *index_of(slot.job);
    ++open[job];
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

void Checker::on_epoch_entered(WorkerNode& node) {
  const auto& o = node.options();
  const std::uint16_t epoch = node.session()->epoch();
  world_->trace().add(world_->now(), node.id(), TraceKind::session);
  world_->trace().say(world_->now(), node.name() + " enters epoch " + std::to_string(epoch));
  auto& members = jobs_[o.job_index].members[epoch];
  members.salts.resize(o.job->workers);
  auto& mine = members.salts[o.rank];
  if (mine && *mine != node.salt())
    return violation("two incarnations of " + name(node) + " run epoch " + std::to_string(epoch));
  members.entered += mine ? 0 : 1;
  mine = node.salt();
}

void Checker::on_op_done(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                         std::span<const std::byte> data) {
  const auto& o = node.options();
  const std::uint16_t epoch = node.session()->epoch();
  world_->trace().add(world_->now(), node.id(), TraceKind::op_done, data);
  world_->trace().say(world_->now(), node.name() + " has op " + std::to_string(index));
  ++ops_done_;
  const auto where = [&] {
    return name(node) + ", epoch " + std::to_string(epoch) + ", op " + std::to_string(index) + ": ";
  };
  const Members& members = jobs_[o.job_index].members[epoch];
  if (members.entered != o.job->workers)
    return violation(where() + "done, though not all ranks have entered the epoch");
  // The first rank's result is checked against the inputs, the others' against the first's.
  const std::uint64_t bits = hash_of(data, index);
  const auto [known, fresh] = op_bits_.try_emplace(OpKey{o.job->id, epoch, index}, bits);
  if (!fresh && known->second == bits) return;
  std::vector<std::uint64_t> salts;
  for (const auto& salt : members.salts) salts.push_back(*salt);
  if (const std::size_t wrong = first_wrong(plan, salts, index, data); wrong != plan.count)
    return violation(where() + "element " + std::to_string(wrong) + " of " +
                     std::to_string(plan.count) + " is not the exact sum");
  if (!fresh) violation(where() + "ranks hold different bits");
}

void Checker::check_cause(const WorkerNode& node, const worker::Failure& f) {
  using wire::Reason;
  const JobScenario& job = *node.options().job;
  if (f.text.find("job " + std::to_string(job.id)) == std::string::npos)
    return violation(name(node) + " failed without a cause: '" + f.text + "'");
  const bool impossible = f.reason == Reason::bad_rank || f.reason == Reason::job_size_mismatch ||
                          f.reason == Reason::unknown_job ||
                          (f.reason == Reason::op_mismatch && !job.disagree) ||
                          f.text.find("cannot start") != std::string::npos;
  if (impossible) violation(name(node) + " failed for a cause that does not exist: " + f.text);
}

void Checker::on_op_failed(WorkerNode& node, std::uint32_t index, const worker::Failure& f) {
  world_->trace().add(world_->now(), node.id(), TraceKind::op_failed);
  world_->trace().say(world_->now(),
                      node.name() + " op " + std::to_string(index) + " failed: " + f.text);
  check_cause(node, f);
}

void Checker::on_session_failed(WorkerNode& node, const worker::Failure& f) {
  ++sessions_failed_;
  world_->trace().say(world_->now(), node.name() + " failed: " + f.text);
  check_cause(node, f);
  // With the network perfect again only a rank that is gone can make the others fail.
  const auto& ranks = ranks_[node.options().job_index];
  const bool complete = std::all_of(ranks.begin(), ranks.end(), [](const WorkerNode* rank) {
    return rank->end() == WorkerEnd::not_yet;
  });
  const bool standing = std::all_of(aggregators_.begin(), aggregators_.end(),
                                    [&](const SwitchNode* s) { return world_->alive(s->id()); });
  if (!complete || node.options().job->disagree || !standing) return;
  if (node.session_began_world() < settled_at_) return;
  violation(name(node) + " failed although nothing was wrong any more: " + f.text);
}

void Checker::on_worker_drop(DropReason reason, std::uint64_t count) {
  reach_.worker_drops[static_cast<std::size_t>(reason)] += count;
}

// Now and then a worker is out of its mind, too: it repeats something it sent lately, bent.
void Checker::on_contribution(WorkerNode& node, const FrameRef& frame) {
  if (scenario_.hostile.faulty_ppm == 0 || Instant() + scenario_.heal_at <= world_->now()) return;
  auto& lately = contributions_[node.id()];
  lately.push_back(frame);
  if (lately.size() > kRemembered) lately.pop_front();
  if (!random_.chance_ppm(scenario_.hostile.faulty_ppm)) return;
  const FrameRef& base = lately[random_.below(static_cast<std::uint32_t>(lately.size()))];
  config::JobConfig job;
  job.chunk_bytes = node.options().job->carried_chunk_bytes();
  job.shards = node.options().job->shards;
  const Draft draft = *take_apart(base.bytes());
  // A refusal would end the epoch that the worker runs: it may lie, but not about who it is.
  if (draft.header.epoch != node.session()->epoch()) return;
  FrameRef bent = put_together(world_->frames(), bend(draft, job, random_));
  bent.writable().truth.forged = true;
  count_frame_fault(FaultKind::faulty_member, base);
  node.send_extra(bent);
}

void Checker::on_hostile(FaultKind kind, const FrameRef& frame) {
  const auto packet = view_packet(frame.bytes());
  if (kind == FaultKind::garbage || !packet || !names_chunk(packet->header.type))
    return count_node_fault(kind);
  count_frame_fault(kind, frame);
}

bool Checker::is_from_aggregator(const FrameRef& frame) const {
  const auto parts = view_parts(frame.bytes());
  return parts && std::any_of(aggregators_.begin(), aggregators_.end(), [&](const SwitchNode* s) {
           return s->config().ipv4 == parts->udp.endpoints.source_ip;
         });
}

const SwitchNode& Checker::concerned(const FrameRef& frame) const {
  if (aggregators_.size() == 1) return *aggregators_[0];
  if (const auto parts = view_parts(frame.bytes()))
    for (const std::uint32_t address :
         {parts->udp.endpoints.destination_ip, parts->udp.endpoints.source_ip})
      for (const SwitchNode* node : aggregators_)
        if (node->config().ipv4 == address) return *node;
  return *aggregators_[0];
}

void Checker::count_frame_fault(FaultKind kind, const FrameRef& frame) {
  const SwitchNode& node = concerned(frame);
  const auto packet = view_packet(frame.bytes());
  if (node.engine() == nullptr || !packet || !names_chunk(packet->header.type)) return;
  const wire::Header& h = packet->header;
  const auto job = index_of(h.job);
  if (!job || h.shard >= jobs_[*job].scenario->shards) return;
  const std::uint32_t seq = h.type == PacketType::ack ? h.seq - 1 : h.seq;
  reach_.fault(kind, node.chunk_state(h.job, h.shard, seq));
}

void Checker::count_node_fault(FaultKind kind) {
  std::array<bool, kChunkStateCount> seen{};
  for (const SwitchNode* node : aggregators_) {
    if (node->engine() == nullptr) continue;
    for (const JobView& view : jobs_) {
      const JobScenario& job = *view.scenario;
      if (node->job(job.id) == nullptr) continue;
      for (std::uint8_t shard = 0; shard < job.shards; ++shard)
        for (std::uint32_t back = 0; back <= 2 * job.window; ++back) {
          const auto state = node->chunk_state(job.id, shard, view.last_seq[shard] + 1 - back);
          seen[static_cast<std::size_t>(state)] = true;
        }
    }
  }
  for (std::size_t s = 0; s < seen.size(); ++s)
    if (seen[s]) reach_.fault(kind, static_cast<ChunkState>(s));
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

bool Checker::all_ended() {
  while (first_not_ended_ < all_ranks_.size() &&
         all_ranks_[first_not_ended_]->end() != WorkerEnd::not_yet)
    ++first_not_ended_;
  return first_not_ended_ == all_ranks_.size();
}

std::uint32_t Checker::ranks_done() const {
  std::uint32_t done = 0;
  for (const auto& job : ranks_)
    for (const WorkerNode* node : job)
      if (node->end() == WorkerEnd::done) ++done;
  return done;
}

}  // namespace tributary::sim
