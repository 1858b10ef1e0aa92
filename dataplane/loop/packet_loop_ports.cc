// Ports that come and go while the loops run, and queues that move from one loop to another.
//
//   make_room   lanes of ports that come are there, and what is for another transmit queue waits
//   apply       rules, jobs; this loop stops polling queues that another loop, or none, will have;
//               members behind ports that go are told
//   attach      queues of this loop are polled, what has waited is sent; ports that go are gone
//
// A port that is opened again goes and comes, in two changes, and keeps its lane, its members, and
// what is known behind it: in between, its place leads to a port whose link is down.
//
// Each step is done by all loops before any begins the next one. So a receive queue is polled by
// one loop at most, and in between by none: its frames wait in the device. A transmit queue is
// filled by one: the loop that gives it up sends what it can and hands on the rest, and what others
// still give it, to the next one, which keeps it until the last step. Of a port that goes nothing
// is left in any loop, or on its way between two, when the last step is done everywhere; its device
// may be closed.
#include <algorithm>

#include "dataplane/loop/packet_loop.h"

namespace tributary::dataplane {
namespace {

template <typename T>
bool is_among(const std::vector<std::pair<std::uint16_t, T>>& all, std::uint16_t place) {
  return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.first == place; });
}

}  // namespace

std::unique_ptr<Lane> make_lane(Port& port, std::uint16_t place, const config::WayOut& way,
                                std::size_t lcore) {
  auto lane = std::make_unique<Lane>(port, place);
  lane->tx_queue = way.queue;
  if (way.lcore != lcore && way.lcore != config::WayOut::kNobody) lane->sender = way.lcore;
  return lane;
}

PacketLoop::PortPlan PacketLoop::plan_ports(const config::SwitchConfig& next,
                                            const config::PortChange& ports) const {
  PortPlan plan;
  plan.places = next.ports.size();
  plan.ways = config::ways_out(next, lcore_);
  plan.queues = queues_.plan(next, ports.removed);
  plan.gone = ports.removed;
  for (const std::uint16_t place : ports.removed)
    plan.removed.emplace_back(place, std::make_unique<Lane>(Port::none(), place));
  for (const std::uint16_t place : ports.renamed)
    plan.renamed.emplace_back(place, next.ports[place].name);
  if (reassembly_) plan.reassembly = reassembly_->plan(next);
  return plan;
}

void PacketLoop::put_lane(std::uint16_t place, std::unique_ptr<Lane>& lane) {
  std::swap(lanes_[place], lane);
  shown_counters_[place].store(&lanes_[place]->counters, std::memory_order_release);
}

void PacketLoop::make_room(PortPlan& plan) {
  lanes_.use(plan.places);
  for (auto& [place, lane] : plan.added) {
    put_lane(place, lane);
    if (tap_ != nullptr) tap_->ignore(place);
  }
  // The port had no queue, so no frame waits and no lcore sends there.
  for (const auto& [place, port] : plan.opened) {
    Lane& lane = *lanes_[place];
    lane.exchange(*port);
    lane.tx_queue = plan.ways[place].queue;
    if (plan.ways[place].lcore != lcore_) lane.sender = plan.ways[place].lcore;
  }
  forwarder_.look_at_ports();
  for (const auto& [place, lane] : plan.added) {
    forget_behind(mask_of(place));
    udp_.next_hops().forget_behind(place);
  }
  transmitter_.flush();
  for (std::uint16_t place = 0; place < plan.places; ++place) {
    Lane& lane = *lanes_[place];
    const config::WayOut& way = plan.ways[place];
    if (way.lcore != lcore_ || is_among(plan.added, place) || is_among(plan.opened, place))
      continue;
    if (!lane.sender && lane.tx_queue == way.queue) continue;
    lane.sender.reset();
    lane.tx_queue = way.queue;
    lane.held = true;
  }
}

void PacketLoop::release(PortPlan& plan, Instant now) {
  for (const auto& [place, lane] : plan.removed) {
    aggregation_.end_behind(place, now);
    if (lldp_) lldp_->say_goodbye(place);
  }
  transmitter_.flush();
  queues_.release(plan.queues, plan.gone);
  for (std::uint16_t place = 0; place < plan.places; ++place) {
    const config::WayOut& way = plan.ways[place];
    if (way.lcore == lcore_ || way.lcore == config::WayOut::kNobody) continue;
    Lane& lane = *lanes_[place];
    const bool had_it = !lane.sender;
    lane.sender = way.lcore;
    if (had_it) transmitter_.hand_on(place);
    lane.tx_queue = way.queue;
  }
  transmitter_.flush();
  taking_in_ = &plan;
  plan.loops_left->fetch_sub(1, std::memory_order_acq_rel);
}

// Frames from other lcores may come from such a port, or be for it.
void PacketLoop::give_up_ports(PortPlan& plan, Instant now) {
  drain_peers(now);
  transmitter_.flush();
  for (const auto& [place, port] : plan.closed) {
    Lane& lane = *lanes_[place];
    transmitter_.discard(place);
    if (reassembly_) reassembly_->discard(place);
    // As its addresses are: where others may be behind it.
    if (port->link().losses() != lane.port->link().losses()) udp_.next_hops().forget_behind(place);
    lane.exchange(*port);
    lane.sender.reset();
  }
  for (auto& [place, lane] : plan.removed) {
    transmitter_.discard(place);
    if (reassembly_) reassembly_->discard(place);
    put_lane(place, lane);
    forwarder_.forget_port(place);
    if (lldp_) lldp_->forget_behind(place);
  }
}

void PacketLoop::attach(Instant now) {
  if (taking_in_ == nullptr) return;
  PortPlan& plan = *taking_in_;
  taking_in_ = nullptr;
  if (!plan.removed.empty() || !plan.closed.empty()) give_up_ports(plan, now);
  for (auto& [place, name] : plan.renamed) std::swap(lanes_[place]->name, name);
  queues_.attach(plan.queues);
  if (reassembly_) reassembly_->attach(plan.reassembly);
  for (const auto& lane : lanes_) lane->held = false;
  forwarder_.look_at_ports();
  if (lldp_) lldp_->speak_on(spoken_for());
  if (announcer_) announcer_->speak_on(spoken_for());
  if (link_probe_) link_probe_->speak_on(spoken_for());
}

}  // namespace tributary::dataplane
