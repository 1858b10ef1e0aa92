#include "tests/sim/simulation.h"

#include <algorithm>
#include <bit>

#include "tests/sim/checker.h"
#include "tests/sim/hostile_node.h"
#include "tests/sim/recorder.h"
#include "tests/sim/switch_node.h"
#include "tests/sim/worker_node.h"
#include "tests/sim/world.h"

namespace tributary::sim {
namespace {

constexpr std::uint32_t kSwitchIpv4 = 0x0A0000FE;  // 10.0.0.254
constexpr std::uint32_t kAccessIpv4 = 0x0A000100;  // 10.0.1.x
constexpr std::uint32_t kWorkerIpv4 = 0x0A010000;  // 10.1.0.1 and on, over all jobs
constexpr std::uint32_t kHostileIpv4 = 0x0A0000FD;
constexpr std::size_t kLargestPacket = 1500;
constexpr std::uint32_t kJumboMtu = 9216;
constexpr Duration kCheckInterval = Duration::ms(25);

// Independent streams from one seed.
std::uint64_t stream(std::uint64_t seed, std::uint64_t purpose, std::uint64_t index) {
  Prng random(seed ^ purpose * 0x9E3779B97F4A7C15ULL);
  return random.next() + index * 0xD1342543DE82EF95ULL;
}
enum Purpose : std::uint64_t { kClock = 1, kCable, kWorker, kSwitch, kHostile, kWorkload };

std::string port_name(std::uint32_t index) {
  std::string name = "p";
  return name += std::to_string(index);
}

class Simulation : public WorldObserver {
 public:
  Simulation(const Scenario& scenario, Trace::Sink log, bool measured = false)
      : scenario_(scenario), world_(*this, scenario.backlog_frames), checker_(scenario) {
    if (log) world_.trace().listen(std::move(log));
    if (measured) recorder_.emplace(scenario, world_, checker_);
    build();
  }
  Outcome run(const ProgressSink& progress = {});
  Measurements measurements() { return recorder_->finish(workers_); }

  void on_frame_fault(FaultKind kind, const FrameRef& frame) override {
    checker_.count_frame_fault(kind, frame);
  }
  void on_script(std::uint32_t entry) override;
  void on_check() override;

 private:
  [[nodiscard]] Observer& observer() {
    return recorder_ ? static_cast<Observer&>(*recorder_) : checker_;
  }
  void report_progress(const ProgressSink& sink);
  void build();
  void build_workers(const std::vector<NodeId>& access);
  void add_switch(const config::SwitchConfig& config, std::uint64_t index);
  [[nodiscard]] config::SwitchConfig aggregator_config() const;
  [[nodiscard]] config::SwitchConfig access_config(std::uint32_t index) const;
  [[nodiscard]] NodeClock clock(std::uint64_t index) const;
  void cable(NodeId a, NodeId b, bool perfect);
  [[nodiscard]] std::optional<NodeId> target_of(const ScriptEntry& entry) const;
  [[nodiscard]] std::uint32_t worker_count() const;
  [[nodiscard]] std::string report(const std::string& what) const;

  const Scenario& scenario_;
  World world_;
  Checker checker_;
  std::optional<Recorder> recorder_;
  worker::SendBatch batch_;
  std::vector<SwitchNode*> switches_;  // the aggregator first
  std::vector<WorkerNode*> workers_;
  std::uint64_t cables_ = 0;
};

std::uint32_t Simulation::worker_count() const {
  std::uint32_t n = 0;
  for (const JobScenario& job : scenario_.jobs) n += job.workers;
  return n;
}

NodeClock Simulation::clock(std::uint64_t index) const {
  Prng random(stream(scenario_.seed, kClock, index));
  const auto drift = static_cast<std::int32_t>(random.below(2 * scenario_.drift_ppm + 1)) -
                     static_cast<std::int32_t>(scenario_.drift_ppm);
  return {Duration::ns(random.below(1'000'000'000)), drift};
}

config::SwitchConfig Simulation::aggregator_config() const {
  config::SwitchConfig c;
  c.ipv4 = kSwitchIpv4;
  c.forwarding.fdb_entries = std::max(64u, std::bit_ceil(2 * worker_count()));
  c.forwarding.fdb_ageing = Duration::seconds(5);
  const bool hostile = scenario_.hostile.packets > 0;
  const std::uint32_t down =
      scenario_.access_switches > 0 ? scenario_.access_switches : worker_count();
  std::size_t largest = 0;
  std::uint32_t first_worker = 0;
  c.slots = 0;
  for (const JobScenario& job : scenario_.jobs) {
    config::JobConfig jc;
    jc.id = job.id;
    jc.workers = job.workers;
    jc.window = job.window;
    jc.chunk_bytes = job.carried_chunk_bytes();
    jc.shards = job.shards;
    jc.deadline = job.deadline;
    jc.lease = job.lease;
    jc.integrity = job.integrity;
    // A stranger may take the place of a rank that is not tied to a port and not there yet.
    for (std::uint32_t rank = 0; hostile && rank < job.workers; ++rank)
      jc.members.push_back({rank, port_name((first_worker + rank) % down)});
    first_worker += job.workers;
    c.slots += job.window;
    largest = std::max(largest, config::kFrameOverheadBytes + job.chunk_bytes);
    c.jobs.push_back(std::move(jc));
  }
  for (std::uint32_t p = 0; p < down + (hostile ? 1u : 0u); ++p)
    c.ports.push_back({port_name(p), "", largest > kLargestPacket ? kJumboMtu : 1500});
  return c;
}

config::SwitchConfig Simulation::access_config(std::uint32_t index) const {
  config::SwitchConfig c;
  c.ipv4 = kAccessIpv4 + index;
  c.forwarding.fdb_entries = std::max(64u, std::bit_ceil(2 * worker_count()));
  c.forwarding.fdb_ageing = Duration::seconds(5);
  std::uint32_t ports = 1;
  for (std::uint32_t w = index; w < worker_count(); w += scenario_.access_switches) ++ports;
  for (std::uint32_t p = 0; p < ports; ++p) c.ports.push_back({port_name(p), "", kJumboMtu});
  return c;
}

void Simulation::add_switch(const config::SwitchConfig& config, std::uint64_t index) {
  SwitchOptions o;
  o.config = config;
  o.turn_max = scenario_.turn_max;
  o.tick = scenario_.tick;
  if (index == 0) o.cost = scenario_.cost;
  o.capture = index == 0 && scenario_.hostile.packets > 0;
  for (const JobScenario& job : scenario_.jobs)
    o.payload_scale.emplace(job.id, job.payload_scale());
  o.first_epoch = static_cast<std::uint16_t>(scenario_.first_epoch);
  o.first_seq = scenario_.first_seq;
  o.seed = stream(scenario_.seed, kSwitch, index);
  const std::string name = index == 0 ? "switch" : "access " + std::to_string(index - 1);
  auto node = std::make_unique<SwitchNode>(name, std::move(o), observer());
  switches_.push_back(node.get());
  world_.add(std::move(node), clock(1000 + index));
}

void Simulation::cable(NodeId a, NodeId b, bool perfect) {
  LinkQuality quality = scenario_.links;
  const Instant heal = perfect ? Instant() : Instant() + scenario_.heal_at;
  world_.connect(a, b, quality, heal, stream(scenario_.seed, kCable, cables_++));
}

void Simulation::build() {
  add_switch(aggregator_config(), 0);
  if (recorder_) recorder_->watch(*switches_[0]);
  std::vector<NodeId> access;
  for (std::uint32_t i = 0; i < scenario_.access_switches; ++i) {
    add_switch(access_config(i), i + 1);
    access.push_back(switches_.back()->id());
    cable(switches_[0]->id(), access.back(), false);
  }
  build_workers(access);
  if (scenario_.hostile.packets > 0) {
    HostileOptions o;
    o.packets = scenario_.hostile.packets;
    o.span = scenario_.heal_at;
    o.seed = stream(scenario_.seed, kHostile, 0);
    o.mac = {2, 0xBA, 0xD0, 0, 0, 1};
    o.ipv4 = kHostileIpv4;
    o.switch_mac = config::derived_mac(kSwitchIpv4);
    o.switch_ipv4 = kSwitchIpv4;
    o.udp_base_port = config::kDefaultUdpBasePort;
    const NodeId id =
        world_.add(std::make_unique<HostileNode>(o, *switches_[0], observer()), clock(2000));
    cable(switches_[0]->id(), id, true);
  }
  for (std::uint32_t i = 0; i < scenario_.script.size(); ++i)
    world_.schedule(Instant() + scenario_.script[i].at, Event::Kind::script, i);
  world_.schedule(Instant() + kCheckInterval, Event::Kind::check, 0);
}

void Simulation::build_workers(const std::vector<NodeId>& access) {
  std::vector<std::vector<WorkerNode*>> ranks;
  for (std::uint32_t j = 0; j < scenario_.jobs.size(); ++j) {
    auto& of_job = ranks.emplace_back();
    for (std::uint32_t rank = 0; rank < scenario_.jobs[j].workers; ++rank) {
      const auto number = static_cast<std::uint32_t>(workers_.size());
      WorkerOptions o;
      o.job = &scenario_.jobs[j];
      o.job_index = j;
      o.rank = rank;
      o.workload_seed = stream(scenario_.seed, kWorkload, 0);
      o.seed = stream(scenario_.seed, kWorker, number);
      o.ipv4 = kWorkerIpv4 + number + 1;
      o.mac = config::derived_mac(o.ipv4);
      o.switch_mac = config::derived_mac(kSwitchIpv4);
      o.switch_ipv4 = kSwitchIpv4;
      o.udp_base_port = config::kDefaultUdpBasePort;
      o.first_seq = scenario_.first_seq;
      const std::string name =
          "job " + std::to_string(scenario_.jobs[j].id) + " rank " + std::to_string(rank);
      auto node = std::make_unique<WorkerNode>(name, o, observer(), batch_);
      workers_.push_back(node.get());
      of_job.push_back(node.get());
      const NodeId id = world_.add(std::move(node), clock(number));
      cable(access.empty() ? switches_[0]->id() : access[number % access.size()], id, false);
    }
  }
  checker_.watch(world_, *switches_[0], std::move(ranks));
}

std::optional<NodeId> Simulation::target_of(const ScriptEntry& e) const {
  switch (e.target) {
    case ScriptTarget::worker: return workers_[e.index % workers_.size()]->id();
    case ScriptTarget::aggregator: return switches_[0]->id();
    case ScriptTarget::access:
      if (scenario_.access_switches == 0) return std::nullopt;
      return switches_[1 + e.index % scenario_.access_switches]->id();
  }
  return std::nullopt;
}

// Entries beyond the script's end start what crashed again.
void Simulation::on_script(std::uint32_t number) {
  const auto size = static_cast<std::uint32_t>(scenario_.script.size());
  const ScriptEntry& e = scenario_.script[number % size];
  const auto node = target_of(e);
  if (!node) return;
  if (number >= size) return world_.restart(*node);
  const bool worker = e.target == ScriptTarget::worker;
  switch (e.action) {
    case ScriptAction::crash:
      if (!world_.alive(*node)) return;
      checker_.count_node_fault(worker ? FaultKind::worker_crash : FaultKind::switch_crash);
      world_.crash(*node);
      if (e.length > Duration())
        world_.schedule(world_.now() + e.length, Event::Kind::script, number + size);
      else if (worker)
        workers_[e.index % workers_.size()]->declare_dead();
      return;
    case ScriptAction::pause:
      if (!world_.alive(*node)) return;
      checker_.count_node_fault(worker ? FaultKind::worker_pause : FaultKind::switch_pause);
      return world_.pause(*node, e.length);
    case ScriptAction::partition: return world_.cut(*node, e.length, true);
    case ScriptAction::link_down: return world_.cut(*node, e.length, false);
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
  Instant over = Instant::max();  // everybody had ended by then
  while (!world_.failure() && world_.now() < limit && world_.step()) {
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
  outcome.ranks = worker_count();
  outcome.reach = checker_.reach();
  for (const SwitchNode* node : switches_)
    for (std::size_t i = 0; i < kDropReasonCount; ++i)
      outcome.reach.switch_drops[i] += node->drops().get(static_cast<DropReason>(i));
  return outcome;
}

}  // namespace

Outcome simulate(const Scenario& scenario, Trace::Sink log) {
  return Simulation(scenario, std::move(log)).run();
}

Outcome measure(const Scenario& scenario, Measurements& measurements, ProgressSink progress,
                Trace::Sink log) {
  Simulation simulation(scenario, std::move(log), true);
  Outcome outcome = simulation.run(progress);
  measurements = simulation.measurements();
  return outcome;
}

}  // namespace tributary::sim
