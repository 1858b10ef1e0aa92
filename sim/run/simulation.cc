#include "sim/run/simulation.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "sim/check/checker.h"
#include "sim/check/recorder.h"
#include "sim/network/packet_view.h"
#include "sim/node/hostile_node.h"
#include "sim/node/server_node.h"
#include "sim/node/switch_node.h"
#include "sim/node/worker_node.h"
#include "sim/node/world.h"
#include "sim/run/node_options.h"
#include "sim/run/tree_changes.h"
#include "sim/scenario/network_plan.h"

namespace tributary::sim {
namespace {

constexpr std::uint32_t kHostileIpv4 = 0x0A0000FD;
constexpr Duration kCheckInterval = Duration::ms(25);

class Simulation : public WorldObserver {
 public:
  Simulation(const Scenario& scenario, Trace::Sink log, bool measured = false)
      : scenario_(scenario),
        plan_(plan_network(scenario)),
        world_(*this, scenario.backlog_frames),
        checker_(scenario),
        changes_(scenario, plan_, world_,
                 [this](FaultKind kind) { checker_.count_node_fault(kind); }) {
    if (log) world_.trace().listen(std::move(log));
    if (measured) recorder_.emplace(scenario, world_, checker_);
    build();
  }
  Outcome run(const ProgressSink& progress = {});
  Measurements measurements() { return recorder_->finish(workers_); }

  void on_frame_fault(FaultKind kind, const FrameRef& frame) override {
    checker_.count_frame_fault(kind, frame);
  }
  bool loses(NodeId from, NodeId to, const FrameRef& frame) override;
  void on_script(std::uint32_t entry) override;
  void on_check() override;

 private:
  [[nodiscard]] Observer& observer() {
    return recorder_ ? static_cast<Observer&>(*recorder_) : checker_;
  }
  void report_progress(const ProgressSink& sink);
  void build();
  void build_workers();
  void build_hostile();
  [[nodiscard]] std::size_t home_of(const WorkerNode& worker) const;
  void build_servers();
  void add_switch(std::size_t index);
  std::pair<std::uint16_t, std::uint16_t> cable(NodeId a, NodeId b, bool perfect);
  [[nodiscard]] std::optional<NodeId> target_of(const ScriptEntry& entry) const;
  void exclude(const ScriptEntry& entry, bool exclude);
  [[nodiscard]] std::string report(const std::string& what) const;

  const Scenario& scenario_;
  const NetworkPlan plan_;
  World world_;
  Checker checker_;
  TreeChanges changes_;
  std::optional<Recorder> recorder_;
  worker::SendBatch batch_;
  std::vector<SwitchNode*> switches_;  // those that aggregate first
  std::vector<WorkerNode*> workers_;
  std::vector<ServerNode*> servers_;
  std::uint64_t cables_ = 0;
  // From whom to whom a packet of that type, about that chunk, was sent before.
  using Passage = std::tuple<NodeId, NodeId, wire::PacketType, std::uint32_t, std::uint16_t,
                             std::uint8_t, std::uint32_t>;
  std::set<Passage> passages_;
};

void Simulation::add_switch(std::size_t index) {
  auto node = std::make_unique<SwitchNode>(plan_.switches[index].name,
                                           switch_options(scenario_, plan_, index), observer());
  switches_.push_back(node.get());
  world_.add(std::move(node), clock_of(scenario_, kSwitchClocks + index));
}

std::pair<std::uint16_t, std::uint16_t> Simulation::cable(NodeId a, NodeId b, bool perfect) {
  LinkQuality quality = scenario_.links;
  const Instant heal = perfect ? Instant() : Instant() + scenario_.heal_at;
  return world_.connect(a, b, quality, heal, seed_of(scenario_.seed, kCable, cables_++));
}

void Simulation::build() {
  for (std::size_t i = 0; i < plan_.switches.size(); ++i) {
    add_switch(i);
    if (const auto above = plan_.switches[i].above)
      cable(switches_[*above]->id(), switches_[i]->id(), false);
  }
  if (recorder_) recorder_->watch(*switches_[0]);
  build_workers();
  if (scenario_.hostile.packets > 0) build_hostile();
  build_servers();
  changes_.build(
      switches_, workers_, [this](NodeId a, NodeId b) { return cable(a, b, false); },
      static_cast<std::uint32_t>(2 * scenario_.script.size()), seed_of(scenario_.seed, kChange, 0));
  for (std::uint32_t i = 0; i < scenario_.script.size(); ++i)
    world_.schedule(Instant() + scenario_.script[i].at, Event::Kind::script, i);
  world_.schedule(Instant() + kCheckInterval, Event::Kind::check, 0);
}

void Simulation::build_hostile() {
  const config::SwitchConfig& victim = plan_.switches[plan_.attacked].config;
  HostileOptions o;
  o.packets = scenario_.hostile.packets;
  o.span = scenario_.heal_at;
  o.seed = seed_of(scenario_.seed, kHostile, 0);
  o.mac = {2, 0xBA, 0xD0, 0, 0, 1};
  o.ipv4 = kHostileIpv4;
  o.switch_mac = config::derived_mac(victim.ipv4);
  o.switch_ipv4 = victim.ipv4;
  o.udp_base_port = config::kDefaultUdpBasePort;
  SwitchNode& node = *switches_[plan_.attacked];
  const NodeId id =
      world_.add(std::make_unique<HostileNode>(o, node, observer()), clock_of(scenario_, 2000));
  cable(node.id(), id, true);
}

void Simulation::build_servers() {
  for (std::size_t i = 0; i < plan_.servers.size(); ++i) {
    auto node = std::make_unique<ServerNode>(plan_.servers[i].config.name,
                                             server_options(scenario_, plan_, i), observer());
    servers_.push_back(node.get());
    const NodeId id = world_.add(std::move(node), clock_of(scenario_, kServerClocks + i));
    cable(switches_[plan_.servers[i].cabled_to]->id(), id, false);
  }
  checker_.watch_servers(servers_);
}

void Simulation::build_workers() {
  std::vector<std::vector<WorkerNode*>> ranks;
  for (std::uint32_t j = 0; j < scenario_.jobs.size(); ++j) {
    auto& of_job = ranks.emplace_back();
    for (std::uint32_t rank = 0; rank < scenario_.jobs[j].workers; ++rank) {
      const auto number = static_cast<std::uint32_t>(workers_.size());
      const WorkerOptions o = worker_options(scenario_, plan_, j, rank, number);
      auto node = std::make_unique<WorkerNode>(name_of(o), o, observer(), batch_);
      workers_.push_back(node.get());
      of_job.push_back(node.get());
      const NodeId id = world_.add(std::move(node), clock_of(scenario_, number));
      cable(switches_[plan_.workers[number].cabled_to]->id(), id, false);
    }
  }
  checker_.watch(world_, std::span(switches_).first(plan_.aggregators), std::move(ranks));
}

std::optional<NodeId> Simulation::target_of(const ScriptEntry& e) const {
  switch (e.target) {
    case ScriptTarget::worker: return workers_[e.index % workers_.size()]->id();
    case ScriptTarget::aggregator: return switches_[e.index % plan_.aggregators]->id();
    case ScriptTarget::access:
      if (scenario_.access_switches == 0) return std::nullopt;
      return switches_[1 + e.index % scenario_.access_switches]->id();
    case ScriptTarget::server:
      if (servers_.empty()) return std::nullopt;
      return servers_[e.index % servers_.size()]->id();
  }
  return std::nullopt;
}

bool Simulation::loses(NodeId from, NodeId to, const FrameRef& frame) {
  // The switches are the first nodes, those that aggregate before the others.
  const bool between =
      scenario_.lose_first_between_switches && std::max(from, to) < plan_.aggregators;
  const bool outside = scenario_.lose_first_contributions && from >= switches_.size();
  if (!between && !outside) return false;
  const auto packet = view_packet(frame.bytes());
  if (!packet) return false;
  const wire::Header& h = packet->header;
  const bool sum = h.type == wire::PacketType::aggregate || h.type == wire::PacketType::result;
  if (between ? !sum : h.type != wire::PacketType::contribution) return false;
  return passages_.emplace(from, to, h.type, h.job, h.epoch, h.shard, h.seq).second;
}

// The switch that it sends to.
std::size_t Simulation::home_of(const WorkerNode& worker) const {
  std::size_t home = 0;
  while (plan_.switches[home].config.ipv4 != worker.options().switch_ipv4) ++home;
  return home;
}

// By the switch above, in all jobs that the target has a part in.
void Simulation::exclude(const ScriptEntry& e, bool exclude) {
  if (e.target == ScriptTarget::worker) {
    const std::size_t number = e.index % workers_.size();
    const WorkerOptions& worker = workers_[number]->options();
    SwitchNode& above = *switches_[home_of(*workers_[number])];
    if (above.engine() == nullptr) return;
    const auto child = above.engine()->worker_child(worker.job->id, worker.rank);
    if (!child) return;  // it has moved, and the switch has not read that yet
    return above.exclude(worker.job->id, *child, exclude, world_.local_now(above.id()));
  }
  if (e.target != ScriptTarget::aggregator) return;
  const std::size_t target = e.index % plan_.aggregators;
  const auto place = changes_.above(target);
  if (!place) return;
  SwitchNode& above = *switches_[*place];
  for (const config::JobConfig& job : above.config().jobs)
    for (std::uint32_t child = 0; child < job.children.size(); ++child)
      if (job.children[child].is_switch &&
          job.children[child].id == plan_.switches[target].config.id)
        above.exclude(job.id, child, exclude, world_.local_now(above.id()));
}

// Entries beyond the script's end undo what others did: start what crashed again; beyond those, the
// tree changes.
void Simulation::on_script(std::uint32_t number) {
  const auto size = static_cast<std::uint32_t>(scenario_.script.size());
  if (number >= 2 * size) return changes_.step(number - 2 * size);
  const ScriptEntry& e = scenario_.script[number % size];
  const auto node = target_of(e);
  if (!node) return;
  if (e.action == ScriptAction::elect) {
    for (std::size_t i = 0; number < size && i < plan_.aggregators; ++i)
      switches_[i]->place_host(e.index, world_.local_now(switches_[i]->id()));
    return;
  }
  if (e.action == ScriptAction::drain) {
    SwitchNode& at = *switches_[e.index % plan_.aggregators];
    if (world_.alive(at.id()) && !world_.paused(at.id()))
      at.drain(e.length, world_.local_now(at.id()));
    return;
  }
  if (e.action == ScriptAction::exclude) {
    exclude(e, number < size);
    if (number < size && e.length > Duration())
      world_.schedule(world_.now() + e.length, Event::Kind::script, number + size);
    return;
  }
  if (number >= size) return world_.restart(*node);
  const bool worker = e.target == ScriptTarget::worker;
  const bool server = e.target == ScriptTarget::server;
  switch (e.action) {
    case ScriptAction::crash:
      if (!world_.alive(*node)) return;
      checker_.count_node_fault(worker   ? FaultKind::worker_crash
                                : server ? FaultKind::server_crash
                                         : FaultKind::switch_crash);
      world_.crash(*node);
      if (e.length > Duration())
        world_.schedule(world_.now() + e.length, Event::Kind::script, number + size);
      else if (worker)
        workers_[e.index % workers_.size()]->declare_dead();
      return;
    case ScriptAction::pause:
      if (!world_.alive(*node)) return;
      checker_.count_node_fault(worker   ? FaultKind::worker_pause
                                : server ? FaultKind::server_pause
                                         : FaultKind::switch_pause);
      return world_.pause(*node, e.length);
    case ScriptAction::partition: return world_.cut(*node, e.length, true);
    case ScriptAction::link_down: return world_.cut(*node, e.length, false);
    case ScriptAction::elect:
    case ScriptAction::drain:
    case ScriptAction::exclude: return;
  }
}

void Simulation::on_check() {
  checker_.check_bounds();
  world_.schedule(world_.now() + kCheckInterval, Event::Kind::check, 0);
}

void Simulation::report_progress(const ProgressSink& sink) {
  sink({world_.now(), world_.events_done(), recorder_->bytes_returned(), checker_.ranks_done()});
}

std::string Simulation::report(const std::string& what) const {
  std::string text = what + "\nat " + time_text(world_.now()) + ":\n";
  for (NodeId id = 0; id < world_.node_count(); ++id)
    text +=
        "  " + world_.node(id).name() + " " +
        (world_.alive(id) ? world_.paused(id) ? "stands still"
                                              : world_.node(id).waiting_for(world_.local_now(id))
                          : "is down") +
        "\n";
  return text;
}

Outcome Simulation::run(const ProgressSink& progress) {
  Outcome outcome;
  world_.start_all();
  Duration settle = Duration::seconds(1);
  for (const JobScenario& job : scenario_.jobs)
    settle = std::max(settle, job.lease + job.deadline + Duration::seconds(1));
  const Instant limit = Instant() + scenario_.limit;
  Instant over = Instant::max();  // all nodes had ended by then
  const std::uint64_t most = scenario_.most_events;
  while (!world_.failure() && world_.now() < limit && world_.step()) {
    if (most != 0 && world_.events_done() > most)
      world_.fail("no end within " + std::to_string(most) + " events");
    if (progress && world_.events_done() % kProgressEvents == 0) report_progress(progress);
    if (over == Instant::max() && checker_.all_ended())
      over = std::max(world_.now(), Instant() + scenario_.heal_at);
    if (over != Instant::max() && world_.now() >= over + settle) break;
  }
  if (!world_.failure() && !checker_.all_ended()) world_.fail("no progress within the time limit");
  if (!world_.failure()) checker_.check_empty();
  if (world_.failure()) outcome.failure = report(*world_.failure());

  outcome.trace_hash = world_.trace().hash();
  outcome.events = world_.events_done();
  outcome.packets = world_.frames_sent();
  outcome.ended_at = world_.now();
  outcome.ops_done = checker_.ops_done();
  outcome.sessions_failed = checker_.sessions_failed();
  outcome.ranks_done = checker_.ranks_done();
  outcome.ranks = worker_count(scenario_);
  for (std::size_t i = 0; i < plan_.aggregators; ++i)
    if (switches_[i]->engine() != nullptr) checker_.on_switch_crash(*switches_[i]);
  for (ServerNode* const server : servers_)
    if (server->server() != nullptr) checker_.on_server_crash(*server);
  outcome.reach = checker_.reach();
  for (const SwitchNode* node : switches_) {
    outcome.reach.held_data(node->held().events());
    for (std::size_t i = 0; i < kDropReasonCount; ++i)
      outcome.reach.switch_drops[i] += node->ports().drops().get(static_cast<DropReason>(i));
  }
  return outcome;
}

}  // namespace

Outcome simulate(const Scenario& scenario, Trace::Sink log) {
  return Simulation(scenario, std::move(log)).run();
}

Outcome measure(const Scenario& scenario, Measurements& measurements, const ProgressSink& progress,
                Trace::Sink log) {
  Simulation simulation(scenario, std::move(log), true);
  Outcome outcome = simulation.run(progress);
  measurements = simulation.measurements();
  return outcome;
}

}  // namespace tributary::sim
