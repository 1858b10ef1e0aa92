#include "sim/node/world.h"

#include "core/wire/ecn.h"
#include "core/wire/integrity.h"
#include "sim/network/packet_view.h"

namespace tributary::sim {
namespace {

// A node that is woken this often without time passing will never stop.
constexpr std::uint32_t kMostWakesAtOnce = 10'000;
// The UDP checksum is a 16-bit sum: it is sure to notice one flipped bit, but two that are a
// multiple of 16 bits apart and go opposite ways cancel out, on one hop or on two. So a packet
// under it alone is corrupted once on its way; heavier corruption is for CRC32C.
constexpr std::uint32_t kFlipsUnderChecksum = 1;
constexpr std::uint32_t kFlipsUnderCrc32c = 8;

}  // namespace

NodeId World::add(std::unique_ptr<Node> node, const NodeClock& clock) {
  node->id_ = static_cast<NodeId>(nodes_.size());
  node->world_ = this;
  nodes_.push_back(std::move(node));
  NodeState& state = states_.emplace_back();
  state.clock = clock;
  return nodes_.back()->id();
}

std::pair<std::uint16_t, std::uint16_t> World::connect(NodeId a, NodeId b,
                                                       const LinkQuality& quality,
                                                       Instant perfect_from, std::uint64_t seed) {
  const auto port_a = static_cast<std::uint16_t>(states_[a].cables.size());
  const auto port_b = static_cast<std::uint16_t>(states_[b].cables.size());
  const auto add_cable = [&](NodeId from, std::uint16_t from_port, End to, std::uint64_t s) {
    states_[from].cables.push_back(static_cast<std::uint32_t>(cables_.size()));
    cables_.push_back({Link(quality, perfect_from, s), to, {}});
    sources_.push_back({from, from_port});
  };
  add_cable(a, port_a, {b, port_b}, seed * 2);
  add_cable(b, port_b, {a, port_a}, seed * 2 + 1);
  return {port_a, port_b};
}

void World::start_all() {
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    states_[id].alive = true;
    nodes_[id]->start(local_now(id));
    plan_wake(id);
  }
}

SendResult World::send(NodeId from, std::uint16_t port, FrameRef frame, Duration after) {
  const std::uint32_t index = states_[from].cables[port];
  Cable& cable = cables_[index];
  if (cable.link.down(now_)) {
    observer_.on_frame_fault(FaultKind::link_down, frame);
    trace_.add(now_, from, TraceKind::link_down, frame.bytes());
    return SendResult::link_down;
  }
  const Transmission t = cable.link.transmit(frame.wire_bytes(), now_ + after);
  if (!t.sent) {
    observer_.on_frame_fault(FaultKind::queue_full, frame);
    trace_.add(now_, from, TraceKind::queue_full, frame.bytes());
    if (trace_.listening())
      trace_.say(now_, nodes_[from]->name() + ": transmit queue full, dropped " +
                           describe_frame(frame.bytes()));
    return SendResult::queue_full;
  }
  if (t.marked) frame = marked(frame);
  ++cable.tally.frames;
  cable.tally.wire_bytes += frame.wire_bytes();
  cable.tally.data_bytes += frame.data_bytes();
  Event event;
  event.kind = Event::Kind::frame;
  event.argument = index;
  event.node = cable.to.node;
  if (t.duplicated) {
    event.at = t.duplicate_at;
    event.duplicate = true;
    event.frame = FrameRef(frame).detach();
    events_.push(event);
    event.duplicate = false;
  }
  event.at = t.at;
  event.reordered = t.reordered;
  event.frame = frame.detach();
  events_.push(event);
  return SendResult::sent;
}

// A shared frame is never written: marks a copy.
FrameRef World::marked(const FrameRef& frame) {
  FrameRef copy = frames_.copy(frame);
  if (!wire::mark_congestion(copy.writable().bytes)) return frame;
  observer_.on_frame_fault(FaultKind::mark, frame);
  return copy;
}

std::uint64_t World::frames_sent() const {
  std::uint64_t sum = 0;
  for (const Cable& cable : cables_) sum += cable.tally.frames;
  return sum;
}

bool World::link_up(NodeId node, std::uint16_t port) const {
  return !cables_[states_[node].cables[port]].link.down(now_);
}

bool World::step() {
  if (events_.empty()) return false;
  const Event event = events_.pop();
  now_ = event.at;
  ++events_done_;
  switch (event.kind) {
    case Event::Kind::frame: arrive(event); break;
    case Event::Kind::wake: {
      NodeState& state = states_[event.node];
      if (event.at != state.wake_at) break;  // replaced by an earlier one
      state.wake_at = Instant::max();
      if (!state.alive || paused(event.node)) break;
      nodes_[event.node]->on_wake(local_now(event.node));
      plan_wake(event.node);
      break;
    }
    case Event::Kind::resume: resume(event.node); break;
    case Event::Kind::script: observer_.on_script(event.argument); break;
    case Event::Kind::check: observer_.on_check(); break;
  }
  return true;
}

void World::plan_wake(NodeId node) {
  NodeState& state = states_[node];
  if (!state.alive || paused(node)) return;
  const Instant wanted = nodes_[node]->next_wakeup();
  if (wanted == Instant::max()) return;
  const Instant at = std::max(state.clock.world(wanted), now_);
  state.wakes_at_once = at == now_ ? state.wakes_at_once + 1 : 0;
  if (state.wakes_at_once > kMostWakesAtOnce) return fail(nodes_[node]->name() + " spins");
  if (at >= state.wake_at) return;
  state.wake_at = at;
  Event event;
  event.at = at;
  event.kind = Event::Kind::wake;
  event.node = node;
  events_.push(event);
}

void World::arrive(const Event& event) {
  FrameRef frame = FrameRef::attach(event.frame);
  Cable& cable = cables_[event.argument];
  const NodeId to = cable.to.node;
  if (event.duplicate) observer_.on_frame_fault(FaultKind::duplicate, frame);
  if (event.reordered) observer_.on_frame_fault(FaultKind::reorder, frame);
  Fate fate = cable.link.arrive(now_);
  if (fate == Fate::delivered && observer_.loses(sources_[event.argument].node, to, frame))
    fate = Fate::lost;
  switch (fate) {
    case Fate::lost:
      observer_.on_frame_fault(FaultKind::loss, frame);
      trace_.add(now_, to, TraceKind::lost, frame.bytes());
      return say_frame("lost", cable.to, frame);
    case Fate::cut:
      observer_.on_frame_fault(FaultKind::partition, frame);
      trace_.add(now_, to, TraceKind::cut, frame.bytes());
      return say_frame("cut off", cable.to, frame);
    case Fate::corrupted:
      observer_.on_frame_fault(FaultKind::corrupt, frame);
      trace_.add(now_, to, TraceKind::corrupted, frame.bytes());
      say_frame("corrupted", cable.to, frame);
      frame = corrupt(cable.link, frame);
      break;
    case Fate::delivered: break;
  }
  deliver(cable.to, frame);
}

FrameRef World::corrupt(Link& link, const FrameRef& frame) {
  const auto parts = view_parts(frame.bytes());
  const bool strong = parts && wire::packet_crc32c(parts->udp.payload).has_value();
  if (!strong && frame.truth().corrupted) return frame;
  FrameRef copy = frames_.copy(frame);
  copy.writable().truth.corrupted = true;
  auto& bytes = copy.writable().bytes;
  // Ethernet's own header is under nothing but the frame check sequence of each hop, which drops
  // it.
  if (bytes.size() <= wire::kEthernetBytes) return copy;
  const auto packet = std::span(bytes).subspan(wire::kEthernetBytes);
  for (const std::uint32_t bit :
       link.flips(packet.size(), strong ? kFlipsUnderCrc32c : kFlipsUnderChecksum))
    packet[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  return copy;
}

void World::deliver(const End& to, const FrameRef& frame) {
  NodeState& state = states_[to.node];
  if (!state.alive) {
    trace_.add(now_, to.node, TraceKind::node_down, frame.bytes());
    return say_frame("finds the node down", to, frame);
  }
  if (paused(to.node)) {
    if (state.backlog.size() < backlog_) {
      state.backlog.emplace_back(to.port, frame);
      return;
    }
    observer_.on_frame_fault(FaultKind::backlog_full, frame);
    trace_.add(now_, to.node, TraceKind::backlog_full, frame.bytes());
    return say_frame("finds the backlog full", to, frame);
  }
  trace_.add(now_, to.node, TraceKind::delivered, frame.bytes());
  say_frame("arrives", to, frame);
  nodes_[to.node]->on_frame(to.port, frame, local_now(to.node));
  plan_wake(to.node);
}

void World::say_frame(const char* what, const End& to, const FrameRef& frame) {
  if (!trace_.listening()) return;
  const End& from = sources_[states_[to.node].cables[to.port] ^ 1u];
  trace_.say(now_, nodes_[from.node]->name() + " -> " + nodes_[to.node]->name() + ": " +
                       describe_frame(frame.bytes()) + " " + what);
}

void World::crash(NodeId node) {
  NodeState& state = states_[node];
  if (!state.alive) return;
  trace_.add(now_, node, TraceKind::crash);
  trace_.say(now_, nodes_[node]->name() + " crashes");
  state.alive = false;
  state.paused_until = Instant();
  state.backlog.clear();
  state.wake_at = Instant::max();
  nodes_[node]->crash();
}

void World::restart(NodeId node) {
  NodeState& state = states_[node];
  if (state.alive) return;
  trace_.add(now_, node, TraceKind::restart);
  trace_.say(now_, nodes_[node]->name() + " starts again");
  state.alive = true;
  nodes_[node]->start(local_now(node));
  plan_wake(node);
}

void World::pause(NodeId node, Duration length) {
  NodeState& state = states_[node];
  if (!state.alive || paused(node)) return;
  trace_.add(now_, node, TraceKind::pause);
  trace_.say(now_, nodes_[node]->name() + " stands still");
  state.paused_until = now_ + length;
  Event event;
  event.at = state.paused_until;
  event.kind = Event::Kind::resume;
  event.node = node;
  events_.push(event);
}

void World::resume(NodeId node) {
  NodeState& state = states_[node];
  if (!state.alive || paused(node)) return;
  trace_.add(now_, node, TraceKind::resume);
  trace_.say(now_, nodes_[node]->name() + " goes on");
  state.resumed_at = local_now(node);
  const auto waiting = std::exchange(state.backlog, {});
  for (const auto& [port, frame] : waiting) deliver({node, port}, frame);
  if (!state.alive) return;
  nodes_[node]->on_wake(local_now(node));
  plan_wake(node);
}

void World::cut(NodeId node, Duration length, bool silently) {
  trace_.say(now_, nodes_[node]->name() + (silently ? ": cables cut off" : ": links down"));
  for (const std::uint32_t index : states_[node].cables)
    for (const std::uint32_t direction : {index, index ^ 1u})
      cables_[direction].link.cut(now_, now_ + length, silently);
}

void World::plug(NodeId node, std::uint16_t port, bool in) {
  const std::uint32_t index = states_[node].cables[port];
  for (const std::uint32_t direction : {index, index ^ 1u}) cables_[direction].link.plug(in);
  trace_.say(now_, nodes_[node]->name() + ": cable of port " + std::to_string(port) +
                       (in ? " plugged in" : " pulled out"));
}

void World::schedule(Instant at, Event::Kind kind, std::uint32_t argument) {
  Event event;
  event.at = at;
  event.kind = kind;
  event.argument = argument;
  events_.push(event);
}

void World::fail(const std::string& what) {
  if (failure_) return;
  failure_ = what;
  trace_.say(now_, "VIOLATION: " + what);
}

}  // namespace tributary::sim
