#include "sim/check/checker.h"

#include <algorithm>

#include "config/change/change.h"
#include "sim/network/packet_view.h"
#include "sim/scenario/network_plan.h"

namespace tributary::sim {
namespace {

using aggregator::ChunkState;
using aggregator::Verdict;
using wire::PacketType;

// From the end of the faults until their last consequence is gone: the longest back-off of a
// probe, and what is still on its way.
constexpr Duration kAftermath = Duration::seconds(2);
// With more ranks than this, looking at all of them after each turn would take most of the time; so
// they are looked at in intervals, the longer the more there are.
constexpr std::size_t kMostRanksEveryTurn = 64;

std::uint64_t hash_of(std::span<const std::byte> bytes, std::uint64_t salt) {
  Trace t;
  t.add(Instant::from_ns(static_cast<std::int64_t>(salt)), 0, TraceKind::op_done, bytes);
  return t.hash();
}

bool reduces(wire::Collective c) {
  return c == wire::Collective::allreduce || c == wire::Collective::reduce ||
         c == wire::Collective::reduce_scatter;
}

// Messages that only the switch above may send. (ACK may be a member's own, too; and PENDING with
// that flag is a switch's below, of whose ranks not all have joined.)
bool is_from_above(const wire::Header& h) {
  const PacketType type = h.type;
  if (type == PacketType::pending) return (h.flags & wire::kFlagCompleteSubtree) == 0;
  return type == PacketType::start || type == PacketType::result || type == PacketType::unknown ||
         type == PacketType::nack || type == PacketType::abort;
}

// Nothing happens that patience would not repair: no epoch may fail at all.
bool benign(const Scenario& s) {
  const LinkQuality& l = s.links;
  const bool patient = std::all_of(s.jobs.begin(), s.jobs.end(), [](const JobScenario& job) {
    return job.deadline >= Duration::seconds(1) && job.lease >= Duration::seconds(1) &&
           job.op_timeout >= Duration::seconds(3) && job.join_timeout >= Duration::seconds(8);
  });
  // Drains are no faults: callers notice a pause, if anything.
  const bool calm = std::all_of(s.script.begin(), s.script.end(), [](const ScriptEntry& e) {
    return e.action == ScriptAction::drain;
  });
  return calm && s.changes.empty() && s.hostile.packets == 0 &&
         l.loss_ppm + l.corrupt_ppm + l.stray_ppm <= 10'000 &&
         l.reorder_delay_max <= Duration::ms(5) && l.bits_per_second == 0 && patient;
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

// At the root of a tree deadlines are longer: an eighth, at least 100 ms, a level.
Duration deadline_at_most(const Scenario& s, const JobScenario& job) {
  if (s.switches.size() < 2 && s.fat_tree.levels < 2) return job.deadline;
  constexpr std::int64_t kMostLevels = 8;
  return job.deadline + std::max(job.deadline / 8, Duration::ms(100)) * kMostLevels;
}

// Reasons for which an honest packet may be refused: it is late, or its epoch is over. `moving`:
// places in the tree change, so the packet may be for the sender's old place.
bool excusable(DropReason reason, bool may_disagree, bool moving) {
  switch (reason) {
    case DropReason::bad_child:
    case DropReason::bad_fan_in:
    case DropReason::bad_coverage:
    case DropReason::join_mismatch:
    case DropReason::bad_shard:
    case DropReason::bad_type:
    case DropReason::unknown_job: return moving;
    case DropReason::duplicate:
    case DropReason::stale_seq:
    case DropReason::stale_epoch:
    case DropReason::stale_term:
    case DropReason::not_joined:
    case DropReason::sender_mismatch:
    case DropReason::aborted:
    // A sender cannot know how far the other ranks are.
    case DropReason::beyond_window: return true;
    case DropReason::op_mismatch: return may_disagree;
    default: return false;
  }
}

// Digest of a job's tree; the same on all switches that have a part in it.
std::uint32_t digest_of(const NetworkPlan::Version& version, std::uint32_t job) {
  for (const config::SwitchConfig& sw : version.configs)
    if (const config::JobConfig* const found = config::find_job(sw, job)) return found->tree_digest;
  return 0;
}

}  // namespace

Checker::Checker(const Scenario& scenario) : scenario_(scenario), random_(scenario.seed ^ 0xBAD) {
  Duration longest;
  const NetworkPlan network = plan_network(scenario);
  const std::vector<bool> cut_off = workers_below_crashes(scenario);
  std::size_t first_worker = 0;
  for (const JobScenario& job : scenario.jobs) {
    longest = std::max({longest, job.lease, deadline_at_most(scenario, job)});
    JobView view;
    view.scenario = &job;
    for (std::uint32_t rank = 0; rank < job.workers; ++rank)
      view.cut_off.push_back(cut_off[first_worker + rank]);
    first_worker += job.workers;
    for (std::size_t v = 0; v < std::max<std::size_t>(network.versions.size(), 1); ++v)
      view.expressions.push_back(job.sums.bracketing ? *job.sums.bracketing
                                 : v == 0            ? expression_of(network, job.id)
                                          : expression_of(plan_of_version(network, v), job.id));
    for (const NetworkPlan::Version& v : network.versions)
      view.tree_changes =
          view.tree_changes || digest_of(v, job.id) != digest_of(network.versions.front(), job.id);
    view.last_seq.assign(job.shards, scenario.first_seq - 1);
    view.hosts.resize(job.shards);
    jobs_.push_back(std::move(view));
    if (job.sums.slots == config::SlotMode::dynamic) ++dynamic_jobs_;
  }
  punctual_ = is_punctual(scenario);
  moves_switches_ = std::any_of(scenario.changes.begin(), scenario.changes.end(),
                                [](const TreeChange& c) { return c.moved_switch.has_value(); });
  marks_happen_ = scenario.links.mark_ppm + scenario.links.mark_bytes != 0 || dynamic_jobs_ > 1;
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

void Checker::on_decision(SwitchNode& node, const FrameRef& frame, const wire::Packet& packet,
                          aggregator::Decision decision) {
  reach_.verdict(decision.verdict);
  check_slot_refusal(node, packet);
  check_taken_slots(node, packet, decision);
  const auto job = index_of(packet.header.job);
  if (!job) return;
  if (decision.verdict == Verdict::opened || decision.verdict == Verdict::completed ||
      decision.verdict == Verdict::sent_up) {
    auto& last = jobs_[*job].last_seq[packet.header.shard];
    if (seq_before(last, packet.header.seq)) last = packet.header.seq;
  }
  if (frame.truth().forged) {
    const bool taken = decision.verdict != Verdict::dropped && decision.verdict != Verdict::refused;
    if (taken && is_from_above(packet.header))
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
  note_marks(node, packet, decision);
  if (decision.verdict == Verdict::completed && (packet.header.flags & wire::kFlagAtPs) != 0 &&
      packet.header.type == PacketType::result)
    check_host_result(node, packet);
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
  if (decision.reason == DropReason::none) return;
  // It would go on from an epoch that another rank has lost.
  if (h.type == PacketType::join && decision.reason == DropReason::join_mismatch &&
      wire::find_resumption(packet.extensions).resumes())
    return;
  // Late packets of ranks that have left are for places that the job does not have any more.
  const bool moving = !scenario_.changes.empty() || !jobs_[job].scenario->resizes.empty();
  if (!excusable(decision.reason, disagree, moving))
    return violation(at.name() + ": an honest " + wire::name_of(h.type) + " of job " +
                     std::to_string(h.job) + " rank " + std::to_string(h.origin) +
                     " was refused: " + drop_label(decision.reason));
  if (decision.reason != DropReason::stale_seq) return;
  check_not_given_up(at, packet);
}

// Rule 4: a switch may forget a chunk only if the sender has its result.
void Checker::check_not_given_up(const SwitchNode& at, const wire::Packet& packet) {
  const wire::Header& h = packet.header;
  if (const SwitchNode* const below = switch_below(at, packet)) {
    const auto place = below->place_of(h.job);
    if (below->engine() == nullptr || !place) return;
    const auto status = below->engine()->job_status(world_->local_now(below->id()))[*place];
    if (status.state != aggregator::JobState::running || status.epoch != h.epoch) return;
    const ChunkState state = below->chunk_state(h.job, h.shard, h.seq);
    if (state == ChunkState::sent || state == ChunkState::escalated)
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
  // Switches and servers answer where a packet says that it came from, which may have been broken.
  if (reason == DropReason::unhandled && is_answer(frame)) return;
  // In a tree that changes, the switch above may be behind another port by now.
  if (!scenario_.changes.empty() &&
      (reason == DropReason::sender_mismatch || reason == DropReason::wrong_ingress_port))
    return;
  // It may have no more shards, and so listen to no more ports, than its present jobs need.
  if (reason == DropReason::unhandled && !scenario_.changes.empty()) return;
  // A switch that moves takes along what it has just received, floods it in its new place, and it
  // comes back to who sent it.
  if (moves_switches_ &&
      (reason == DropReason::bad_source_mac || reason == DropReason::own_address))
    return;
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
  if (h.type == PacketType::start && (h.flags & wire::kFlagAtPs) != 0)
    return check_appointment(node, message);
  if (h.type == PacketType::start && h.epoch != view.epoch && is_root) {
    view.epoch = h.epoch;
    view.members[h.epoch].version = node.version();
    view.last_seq.assign(view.scenario->shards, scenario_.first_seq - 1);
    result_bits_.clear();
    bounds_.clear();
    std::erase_if(marks_, [&](const auto& m) { return m.first.job == h.job; });
  }
  check_result(node.name(), message);
}

// Checks a result on its way to ranks, from a switch or a host: there is one for each chunk.
void Checker::check_result(const std::string& node, const aggregator::Outgoing& message) {
  const wire::Header& h = message.header;
  if (h.type != PacketType::result) return;
  check_list(node, message);
  check_mark(node, h);
  const JobView& view = jobs_[*index_of(h.job)];
  if (view.scenario->sums.verify && reduces(h.collective) &&
      (h.flags & (wire::kFlagVerified | wire::kFlagOverflow)) == 0)
    violation(node + " sent a result without verification: job " + std::to_string(h.job) +
              " shard " + std::to_string(h.shard) + " seq " + std::to_string(h.seq));
  // The ranks that do not get a reduced chunk are only told that it is done.
  if (message.payload.empty()) return;
  const ChunkKey key{h.job, h.epoch, h.shard, h.seq};
  const std::uint64_t salt = std::uint64_t{h.op} << 32 | h.chunk;
  const std::uint64_t bits = hash_of(message.payload, salt >> 1);
  const auto [known, fresh] = result_bits_.try_emplace(key, bits);
  if (!fresh && known->second != bits)
    violation(node + " sent two results for job " + std::to_string(h.job) + " shard " +
              std::to_string(h.shard) + " seq " + std::to_string(h.seq));
}

void Checker::on_epoch_entered(WorkerNode& node) {
  const auto& o = node.options();
  const std::uint16_t epoch = node.session()->epoch();
  world_->trace().add(world_->now(), node.id(), TraceKind::session);
  world_->trace().say(world_->now(), node.name() + " enters epoch " + std::to_string(epoch));
  auto& members = jobs_[o.job_index].members[epoch];
  members.salts.resize(node.job().workers);
  auto& mine = members.salts[o.rank];
  if (mine && *mine != node.salt())
    return violation("two incarnations of " + name(node) + " run epoch " + std::to_string(epoch));
  members.entered += mine ? 0 : 1;
  mine = node.salt();
  if (node.resumed_from()) check_resumption(node);
}

std::vector<std::uint64_t> Checker::salts_of(std::uint32_t job, std::uint32_t epoch) {
  std::vector<std::uint64_t> salts;
  for (const auto& salt : jobs_[job].members[epoch].salts) salts.push_back(salt.value_or(0));
  return salts;
}

void Checker::on_op_called(WorkerNode& node, std::uint32_t index, const OpPlan& plan) {
  if (wire::concerns_model(plan.collective))
    jobs_[node.options().job_index].model.called(node.session()->epoch(), index, plan);
}

void Checker::on_op_done(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                         const OpResult& result) {
  const auto& o = node.options();
  const std::uint16_t epoch = node.session()->epoch();
  world_->trace().add(world_->now(), node.id(), TraceKind::op_done, result.data);
  world_->trace().add(world_->now(), node.id(), TraceKind::op_done, result.output);
  world_->trace().say(world_->now(), node.name() + " has op " + std::to_string(index));
  ++ops_done_;
  reach_.op(plan, *o.job, aggregators_.size() > 1);
  const auto where = [&] {
    return name(node) + ", epoch " + std::to_string(epoch) + ", op " + std::to_string(index) +
           " (" + describe(plan) + "): ";
  };
  const Members& members = jobs_[o.job_index].members[epoch];
  if (!all_inside_entered(members, result))
    return violation(where() + "done, though not all ranks have entered the epoch");
  // Where all get the same, the first rank's result is checked against the inputs, and the others'
  // against the first's.
  check_epoch_of(node, index);
  const MissingByChunk missing =
      missing_of(jobs_[o.job_index], epoch, index - node.first_op(), o.rank);
  if (const auto wrong = wrong_list(jobs_[o.job_index], missing, result))
    return violation(where() + *wrong);
  if (robbed_ops_.contains({o.job->id, epoch, index - node.first_op()}))
    reach_.taken(TakenSlot::op_done);
  if (plan.same_everywhere()) {
    const std::uint64_t bits = hash_of(result.output.empty() ? result.data : result.output, index);
    const auto [known, fresh] = op_bits_.try_emplace(
        {OpKey{o.job->id, epoch, index}, {result.left_out.begin(), result.left_out.end()}}, bits);
    if (!fresh && known->second != bits) return violation(where() + "ranks hold different bits");
    if (!fresh) return;
  }
  const auto wrong = wire::concerns_model(plan.collective)
                         ? jobs_[o.job_index].model.done(epoch, index, plan, result.data,
                                                         [&](std::uint32_t any_epoch) {
                                                           return salts_of(o.job_index, any_epoch);
                                                         })
                         : wrong_with(plan, node.job(), expression_for(node, members),
                                      salts_of(o.job_index, epoch), index, result,
                                      [&](std::uint32_t chunk) -> std::span<const std::uint64_t> {
                                        const auto found = missing.find(chunk);
                                        if (found == missing.end()) return {};
                                        return found->second;
                                      });
  if (wrong) violation(where() + *wrong);
}

void Checker::check_cause(const WorkerNode& node, const worker::Failure& f) {
  using wire::Reason;
  const JobScenario& job = *node.options().job;
  if (f.text.find("job " + std::to_string(job.id)) == std::string::npos)
    return violation(name(node) + " failed without a cause: '" + f.text + "'");
  const bool misplaced = f.reason == Reason::bad_rank || f.reason == Reason::unknown_job;
  const bool disagreement = f.reason == Reason::op_mismatch || f.reason == Reason::model_mismatch;
  const bool impossible = (misplaced && scenario_.changes.empty()) ||
                          f.reason == Reason::job_size_mismatch ||
                          (f.reason == Reason::configuration_changed && !job.model &&
                           !jobs_[node.options().job_index].tree_changes) ||
                          (disagreement && !job.disagree) || f.reason == Reason::broken_invariant ||
                          f.text.find("cannot start") != std::string::npos;
  if (impossible) violation(name(node) + " failed for a cause that does not exist: " + f.text);
}

void Checker::on_op_failed(WorkerNode& node, std::uint32_t index, const OpPlan& plan,
                           const worker::Failure& f) {
  world_->trace().add(world_->now(), node.id(), TraceKind::op_failed);
  world_->trace().say(world_->now(),
                      node.name() + " op " + std::to_string(index) + " failed: " + f.text);
  if (f.reason == wire::Reason::overflow) {
    if (plan.values != Values::overflows)
      return violation(name(node) + " op " + std::to_string(index) + " (" + describe(plan) +
                       ") overflowed, though no sum can");
    ++reach_.overflows;
  }
  check_cause(node, f);
}

void Checker::on_session_failed(WorkerNode& node, const worker::Failure& f) {
  ++sessions_failed_;
  world_->trace().say(world_->now(), node.name() + " failed: " + f.text);
  check_cause(node, f);
  // All switches have long read the last tree, whenever this rank began to join.
  if (f.text.find("different trees") != std::string::npos && world_->now() >= settled_at_ &&
      std::all_of(aggregators_.begin(), aggregators_.end(), [&](const SwitchNode* s) {
        return s->version() == scenario_.changes.size() && world_->alive(s->id());
      }))
    violation(name(node) + " is refused for a tree that no switch has any more: " + f.text);
  // With the network perfect again only a rank that is gone can make the others fail.
  const auto& ranks = ranks_[node.options().job_index];
  const bool complete = std::all_of(ranks.begin(), ranks.end(), [](const WorkerNode* rank) {
    return rank->end() == WorkerEnd::not_yet;
  });
  const bool standing = std::all_of(aggregators_.begin(), aggregators_.end(),
                                    [&](const SwitchNode* s) { return world_->alive(s->id()); });
  if (!complete || node.options().job->disagree || !standing) return;
  if (node.session_began_world() < settled_at_) return;
  // Windows that overfill a queue lose frames for ever. Each takes a worker's timeout (at most
  // 200 ms) to find, and what one rank resends pushes out another's: that may outlast a deadline.
  // So may completion hosts with memory for one chunk, which refuse all others.
  const JobScenario& job = *node.options().job;
  // It was asked to go on in another epoch, which a model does not.
  if (f.reason == wire::Reason::configuration_changed && job.model) return;
  // While no server has said hello, the root stands in, which has no model.
  if (f.reason == wire::Reason::model_lost && job.root_too) return;
  const bool late = f.reason == wire::Reason::deadline || f.reason == wire::Reason::host_lost;
  if (late && last_overfull_ && world_->now() - *last_overfull_ <= job.deadline * 2) return;
  violation(name(node) + " failed although nothing was wrong any more: " + f.text);
}

void Checker::on_worker_drop(DropReason reason, std::uint64_t count) {
  reach_.worker_drops[static_cast<std::size_t>(reason)] += count;
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
