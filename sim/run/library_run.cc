#include "sim/run/library_run.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/node/library_node.h"
#include "sim/node/server_node.h"
#include "sim/node/switch_node.h"
#include "sim/node/world.h"
#include "sim/rules/model_checker.h"
#include "sim/run/node_options.h"
#include "sim/run/tree_changes.h"
#include "sim/scenario/network_plan.h"

namespace tributary::sim {
namespace {

constexpr Duration kLeaveInterval = Duration::ms(25);
constexpr Duration kRetryFor = Duration::seconds(150);

// Other worlds judge what a switch does.
class NoObserver : public SwitchObserver {
 public:
  void before_packet(SwitchNode&, const FrameRef&, const wire::Packet&) override {}
  void on_decision(SwitchNode&, const FrameRef&, const wire::Packet&,
                   aggregator::Decision) override {}
  void on_refused(SwitchNode&, const FrameRef&, DropReason) override {}
  void on_message(SwitchNode&, const aggregator::Outgoing&) override {}
  void on_hosted_drop(SwitchNode&, const FrameRef&, DropReason) override {}
  void on_turn_end(SwitchNode&, Instant) override {}
  void on_switch_crash(SwitchNode&) override {}
};

class NoServerObserver : public ServerObserver {
 public:
  void on_server_crash(ServerNode&) override {}
  void on_server_message(ServerNode&, const aggregator::Outgoing&) override {}
  void on_server_drop(ServerNode&, const FrameRef&, DropReason) override {}
};

class LibraryRun : public WorldObserver, public LibraryObserver {
 public:
  LibraryRun(const Scenario& scenario, Trace::Sink log)
      : scenario_(scenario),
        plan_(plan_network(scenario)),
        world_(*this, scenario.backlog_frames),
        changes_(scenario, plan_, world_, [this](FaultKind kind) {
          if (kind == FaultKind::switch_move) ++moves_;
        }) {
    if (log) world_.trace().listen(std::move(log));
    build();
  }
  LibraryOutcome run();

  void on_frame_fault(FaultKind /*kind*/, const FrameRef& /*frame*/) override {}
  bool loses(NodeId /*from*/, NodeId /*to*/, const FrameRef& /*frame*/) override { return false; }
  void on_script(std::uint32_t number) override;
  void on_check() override;
  void on_op_ended(LibraryNode& node, std::uint32_t index, const OpPlan& plan,
                   const OpResult& result, const std::optional<worker::Failure>& failure) override;
  void on_model_call(LibraryNode& node, std::uint32_t index, const OpPlan& plan) override {
    jobs_[node.options().job_index].model.called(kRun, index, plan);
  }
  void on_join_failed(LibraryNode& node, const worker::Failure& failure) override {
    world_.fail(node.name() + " did not join: " + failure.text);
  }

 private:
  struct Job {
    std::vector<LibraryNode*> ranks;
    std::vector<std::uint64_t> salts;
    std::vector<std::uint32_t> next;                          // by rank: the op that ends next
    std::vector<config::Bracket> expressions;                 // one for each tree that there is
    std::map<std::uint32_t, std::vector<std::byte>> results;  // of the first rank that had each
    ModelChecker model;
  };
  // All epochs are one to the caller.
  static constexpr std::uint32_t kRun = 0;

  void build();
  void build_workers();
  void build_servers();
  std::pair<std::uint16_t, std::uint16_t> cable(NodeId a, NodeId b);
  [[nodiscard]] std::vector<config::Bracket> expressions_of(const JobScenario& job) const;
  [[nodiscard]] std::optional<std::string> wrong_sum(const Job& job, const JobScenario& scenario,
                                                     std::uint32_t index, const OpPlan& plan,
                                                     const OpResult& result) const;
  [[nodiscard]] std::optional<NodeId> target_of(const ScriptEntry& entry) const;
  bool check_bits(Job& job, const std::string& name, std::uint32_t index, const OpPlan& plan,
                  const OpResult& result);
  template <typename Holds>
  [[nodiscard]] bool all_ranks(Holds&& holds) const {
    return std::all_of(ranks_.begin(), ranks_.end(), holds);
  }
  [[nodiscard]] std::string report(const std::string& what) const;

  const Scenario& scenario_;
  const NetworkPlan plan_;
  World world_;
  TreeChanges changes_;
  NoObserver unseen_;
  NoServerObserver unseen_server_;
  bool may_leave_ = false;
  std::vector<SwitchNode*> switches_;
  std::vector<LibraryNode*> ranks_;
  std::vector<NodeId> servers_;
  std::vector<Job> jobs_;
  std::uint64_t cables_ = 0;
  std::uint64_t ops_ = 0;
  std::uint64_t updates_ = 0;
  std::uint64_t moves_ = 0;
};

std::pair<std::uint16_t, std::uint16_t> LibraryRun::cable(NodeId a, NodeId b) {
  return world_.connect(a, b, scenario_.links, Instant() + scenario_.heal_at,
                        seed_of(scenario_.seed, kCable, cables_++));
}

// How the sums of floats are bracketed, by the tree that switches have read.
std::vector<config::Bracket> LibraryRun::expressions_of(const JobScenario& job) const {
  if (job.sums.bracketing) return {*job.sums.bracketing};
  std::vector<config::Bracket> all = {expression_of(plan_, job.id)};
  NetworkPlan then = plan_;
  for (const NetworkPlan::Version& version : plan_.versions) {
    for (std::size_t i = 0; i < version.configs.size(); ++i)
      then.switches[i].config = version.configs[i];
    all.push_back(expression_of(then, job.id));
  }
  return all;
}

void LibraryRun::build() {
  for (std::size_t i = 0; i < plan_.switches.size(); ++i) {
    auto node = std::make_unique<SwitchNode>(plan_.switches[i].name,
                                             switch_options(scenario_, plan_, i), unseen_);
    switches_.push_back(node.get());
    world_.add(std::move(node), clock_of(scenario_, kSwitchClocks + i));
    if (const auto above = plan_.switches[i].above)
      cable(switches_[*above]->id(), switches_[i]->id());
  }
  build_workers();
  build_servers();
  changes_.build(
      switches_, {}, [this](NodeId a, NodeId b) { return cable(a, b); },
      static_cast<std::uint32_t>(2 * scenario_.script.size()), seed_of(scenario_.seed, kChange, 0));
  for (std::uint32_t i = 0; i < scenario_.script.size(); ++i)
    world_.schedule(Instant() + scenario_.script[i].at, Event::Kind::script, i);
  world_.schedule(Instant() + kLeaveInterval, Event::Kind::check, 0);
}

void LibraryRun::build_workers() {
  for (std::uint32_t j = 0; j < scenario_.jobs.size(); ++j) {
    Job& job = jobs_.emplace_back();
    job.expressions = expressions_of(scenario_.jobs[j]);
    job.next.resize(scenario_.jobs[j].workers);
    for (std::uint32_t rank = 0; rank < scenario_.jobs[j].workers; ++rank) {
      const auto number = static_cast<std::uint32_t>(ranks_.size());
      auto node = std::make_unique<LibraryNode>(worker_options(scenario_, plan_, j, rank, number),
                                                kRetryFor, may_leave_, *this);
      ranks_.push_back(node.get());
      job.ranks.push_back(node.get());
      const NodeId id = world_.add(std::move(node), clock_of(scenario_, number));
      cable(switches_[plan_.workers[number].cabled_to]->id(), id);
    }
  }
}

void LibraryRun::build_servers() {
  for (std::size_t i = 0; i < plan_.servers.size(); ++i) {
    auto node = std::make_unique<ServerNode>(plan_.servers[i].config.name,
                                             server_options(scenario_, plan_, i), unseen_server_);
    servers_.push_back(world_.add(std::move(node), clock_of(scenario_, kServerClocks + i)));
    cable(switches_[plan_.servers[i].cabled_to]->id(), servers_.back());
  }
}

std::optional<NodeId> LibraryRun::target_of(const ScriptEntry& e) const {
  if (e.target == ScriptTarget::worker) return ranks_[e.index % ranks_.size()]->id();
  if (e.target == ScriptTarget::server) return servers_[e.index % servers_.size()];
  if (e.target == ScriptTarget::aggregator) return switches_[e.index % plan_.aggregators]->id();
  if (scenario_.access_switches == 0) return std::nullopt;
  return switches_[1 + e.index % scenario_.access_switches]->id();
}

// Entries beyond the script's end start what crashed again; behind those are the tree's changes.
void LibraryRun::on_script(std::uint32_t number) {
  const auto size = static_cast<std::uint32_t>(scenario_.script.size());
  if (number >= 2 * size) return changes_.step(number - 2 * size);
  const ScriptEntry& e = scenario_.script[number % size];
  const auto node = target_of(e);
  if (!node) return;
  if (number >= size) return world_.restart(*node);
  SwitchNode& at = *switches_[e.index % plan_.aggregators];
  switch (e.action) {
    case ScriptAction::crash:
      if (!world_.alive(*node)) return;
      world_.crash(*node);
      return world_.schedule(world_.now() + e.length, Event::Kind::script, number + size);
    case ScriptAction::pause:
      if (world_.alive(*node)) world_.pause(*node, e.length);
      return;
    case ScriptAction::partition: return world_.cut(*node, e.length, true);
    case ScriptAction::link_down: return world_.cut(*node, e.length, false);
    case ScriptAction::drain:
      if (world_.alive(at.id()) && !world_.paused(at.id()))
        at.drain(e.length, world_.local_now(at.id()));
      return;
    case ScriptAction::elect:
    case ScriptAction::exclude: return;
  }
}

void LibraryRun::on_check() {
  may_leave_ = all_ranks([](const LibraryNode* rank) { return rank->has_ended_ops(); });
  world_.schedule(world_.now() + kLeaveInterval, Event::Kind::check, 0);
}

void LibraryRun::on_op_ended(LibraryNode& node, std::uint32_t index, const OpPlan& plan,
                             const OpResult& result,
                             const std::optional<worker::Failure>& failure) {
  const std::string name = node.name() + ", op " + std::to_string(index) + ", " + describe(plan);
  Job& job = jobs_[node.options().job_index];
  if (failure) return world_.fail(name + " failed: " + failure->text);
  if (job.next[result.rank]++ != index)
    return world_.fail(name + " ended before an op that was called before it");
  if (job.salts.empty())
    for (const LibraryNode* rank : job.ranks) job.salts.push_back(rank->salt());
  ++ops_;
  if (plan.collective == wire::Collective::update) ++updates_;
  const bool first = check_bits(job, name, index, plan, result);
  std::optional<std::string> wrong;
  if (!wire::concerns_model(plan.collective))
    wrong = wrong_sum(job, scenario_.jobs[node.options().job_index], index, plan, result);
  else if (first)
    wrong =
        job.model.done(kRun, index, plan, result.data, [&](std::uint32_t) { return job.salts; });
  if (wrong) world_.fail(name + ": " + *wrong);
}

// Switches of two trees never make up one epoch: the sum is one of these trees'.
std::optional<std::string> LibraryRun::wrong_sum(const Job& job, const JobScenario& scenario,
                                                 std::uint32_t index, const OpPlan& plan,
                                                 const OpResult& result) const {
  std::optional<std::string> wrong;
  for (const config::Bracket& expression : job.expressions) {
    wrong = wrong_with(plan, scenario, expression, job.salts, index, result);
    if (!wrong) return std::nullopt;
  }
  return wrong;
}

// Returns true if this rank is the first to have a result that is the same on all.
bool LibraryRun::check_bits(Job& job, const std::string& name, std::uint32_t index,
                            const OpPlan& plan, const OpResult& result) {
  if (!plan.same_everywhere()) return false;
  const auto bytes = result.output.empty() ? result.data : result.output;
  const auto [at, first] = job.results.try_emplace(index, bytes.begin(), bytes.end());
  if (!first && !std::equal(bytes.begin(), bytes.end(), at->second.begin(), at->second.end()))
    world_.fail(name + ": another rank has other bits");
  return first;
}

std::string LibraryRun::report(const std::string& what) const {
  std::string text = what + "\nat " + time_text(world_.now()) + ":\n";
  for (NodeId id = 0; id < world_.node_count(); ++id)
    text += "  " + world_.node(id).name() + " " +
            (world_.alive(id) ? world_.node(id).waiting_for(world_.local_now(id)) : "is down") +
            "\n";
  return text;
}

LibraryOutcome LibraryRun::run() {
  world_.start_all();
  const Instant limit = Instant() + scenario_.limit;
  const auto over = [](const LibraryNode* rank) { return rank->is_over(); };
  while (!world_.failure() && world_.now() < limit && !all_ranks(over) && world_.step())
    if (scenario_.most_events != 0 && world_.events_done() > scenario_.most_events)
      world_.fail("no end within " + std::to_string(scenario_.most_events) + " events");
  if (!world_.failure() && !all_ranks(over)) world_.fail("no progress within the time limit");
  LibraryOutcome outcome;
  if (world_.failure()) outcome.failure = report(*world_.failure());
  outcome.trace_hash = world_.trace().hash();
  outcome.events = world_.events_done();
  outcome.ops = ops_;
  outcome.updates = updates_;
  outcome.moves = moves_;
  for (const LibraryNode* rank : ranks_) outcome.retries += rank->stats().retries;
  return outcome;
}

}  // namespace

LibraryOutcome run_library(const Scenario& scenario, Trace::Sink log) {
  return LibraryRun(scenario, std::move(log)).run();
}

}  // namespace tributary::sim
