#include "sim/run/tree_changes.h"

#include "core/prng.h"

namespace tributary::sim {
namespace {

// For a node that is paused: it reads the tree when it goes on.
constexpr Duration kReadAgain = Duration::ms(5);

}  // namespace

void TreeChanges::build(std::span<SwitchNode* const> switches, std::span<WorkerNode* const> workers,
                        const Connect& connect, std::uint32_t first, std::uint64_t seed) {
  switches_ = switches;
  workers_ = workers;
  first_ = first;
  if (plan_.versions.empty()) return;
  for (const NetworkPlan::Cable& c : plan_.cables) {
    const NodeId mover = c.of_switch ? switches_[c.mover]->id() : workers_[c.mover]->id();
    ports_.push_back(connect(switches_[c.to]->id(), mover).second);
    if (c.of_switch) world_.plug(mover, ports_.back(), false);
  }
  Prng random(seed);
  for (std::size_t c = 0; c < scenario_.changes.size(); ++c) {
    const TreeChange& change = scenario_.changes[c];
    const auto schedule = [&](What what, std::size_t index) {
      const auto late = random.below(static_cast<std::uint32_t>(change.spread.to_ns()) + 1);
      world_.schedule(Instant() + change.at + Duration::ns(late), Event::Kind::script,
                      first_ + static_cast<std::uint32_t>(steps_.size()));
      steps_.push_back({c + 1, what, index});
    };
    for (std::size_t i = 0; i < plan_.aggregators; ++i) schedule(What::switch_reads, i);
    if (change.moved_switch)
      schedule(What::switch_moves, *change.moved_switch);
    else
      schedule(What::worker_moves, change.worker);
  }
}

void TreeChanges::step(std::uint32_t number) {
  const Step& step = steps_[number];
  if (step.what == What::switch_reads) return read(number);
  // Instants of changes may lie close together, and be drawn in another order.
  const bool of_switch = step.what == What::switch_moves;
  std::size_t& at = at_[{of_switch, step.index}];
  if (at >= step.version) return;
  at = step.version;
  of_switch ? move_switch(step.version, step.index) : move_worker(step.version, step.index);
}

void TreeChanges::read(std::uint32_t number) {
  const Step& step = steps_[number];
  SwitchNode& node = *switches_[step.index];
  if (node.version_to_come() >= step.version) return;
  if (world_.paused(node.id()))
    return world_.schedule(world_.now() + kReadAgain, Event::Kind::script, first_ + number);
  count_(FaultKind::tree_change);
  node.reload(plan_.versions[step.version].configs[step.index], step.version,
              world_.local_now(node.id()), scenario_.changes[step.version - 1].drain);
}

std::uint16_t TreeChanges::port_to(bool of_switch, std::size_t mover, std::size_t to) const {
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    const NetworkPlan::Cable& c = plan_.cables[i];
    if (c.of_switch == of_switch && c.mover == mover && c.to == to) return ports_[i];
  }
  return 0;  // where it was at the begin
}

void TreeChanges::move_worker(std::size_t version, std::size_t number) {
  WorkerNode& node = *workers_[number];
  const std::size_t home = plan_.versions[version].homes[number];
  const bool alive = world_.alive(node.id());
  if (alive) {
    count_(FaultKind::worker_move);
    world_.crash(node.id());
  }
  node.move(plan_.switches[home].config.ipv4, port_to(false, number, home));
  if (alive) world_.restart(node.id());
}

void TreeChanges::move_switch(std::size_t version, std::size_t index) {
  const NodeId node = switches_[index]->id();
  const std::uint16_t port = port_to(true, index, *plan_.versions[version].above[index]);
  if (world_.plugged_in(node, port)) return;
  count_(FaultKind::switch_move);
  world_.plug(node, 0, false);
  for (std::size_t i = 0; i < ports_.size(); ++i)
    if (plan_.cables[i].of_switch && plan_.cables[i].mover == index)
      world_.plug(node, ports_[i], false);
  world_.plug(node, port, true);
}

std::optional<std::size_t> TreeChanges::above(std::size_t index) const {
  if (plan_.versions.empty()) return plan_.switches[index].above;
  return plan_.versions[switches_[index]->version()].above[index];
}

}  // namespace tributary::sim
