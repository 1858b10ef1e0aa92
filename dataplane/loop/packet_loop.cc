#include "dataplane/loop/packet_loop.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <sys/prctl.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "dataplane/frame/frame_tag.h"
#include "dataplane/memif/lent_frame.h"
#include "dataplane/port/port_burst.h"

namespace tributary::dataplane {
namespace {

Lanes make_lanes(const config::SwitchConfig& config, std::span<Port* const> ports,
                 std::size_t lcore) {
  Lanes lanes;
  const auto ways = config::ways_out(config, lcore);
  for (std::uint16_t place = 0; place < ports.size(); ++place)
    lanes.push_back(make_lane(*ports[place], place, ways[place], lcore));
  return lanes;
}

HandoverEnd* open(std::optional<HandoverEnd>& peers, const LoopPlace& place) {
  if (place.handover == nullptr) return nullptr;
  return &peers.emplace(*place.handover, place.lcore);
}

// A job that moves to another lcore must not meet an epoch, or a nonce, that it has had before.
aggregator::EngineStart engine_start(const Randomness& randomness, const LoopPlace& place) {
  constexpr std::size_t kApart = 0x10000 / config::kMaxLcores;
  return {.epoch = static_cast<std::uint16_t>(randomness.initial_epoch + place.lcore * kApart),
          .nonce_seed = randomness.nonce_seed + place.lcore * 0xA24BAED4963EE407ULL,
          .open_desk = place.open_desk};
}

std::span<std::byte> first_segment(rte_mbuf* frame) {
  return {rte_pktmbuf_mtod(frame, std::byte*), frame->data_len};
}

void sleep_for(Duration duration) {
  const timespec request{0, static_cast<long>(duration.to_ns())};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &request, nullptr);
}

}  // namespace

PacketLoop::PacketLoop(const config::SwitchConfig& config, std::span<Port* const> ports,
                       rte_mempool* pool, const Randomness& randomness, const LoopPlace& place)
    : PacketLoop(config,
                 config::lcore_part(config, place.lcore, config::lcore_share(config, place.lcore)),
                 config::lcore_share(config, place.lcore), ports, pool, randomness, place) {}

PacketLoop::PacketLoop(const config::SwitchConfig& config, const config::SwitchConfig& part,
                       const config::LcoreShare& share, std::span<Port* const> ports,
                       rte_mempool* pool, const Randomness& randomness, const LoopPlace& place)
    : lcore_(place.lcore),
      share_(share),
      identity_(identity_of(config)),
      senders_(config),
      lanes_(make_lanes(config, ports, place.lcore)),
      queues_(config, place.lcore),
      transmitter_(lanes_, pool, open(peers_, place)),
      forwarder_(config, randomness.fdb_seed, lanes_, transmitter_, pool,
                 {place.groups, place.lcore}),
      udp_(config, part),
      rdma_(config, part, place.lcore, randomness.nonce_seed),
      aggregation_(part, engine_start(randomness, place), pool, lanes_, transmitter_, udp_, rdma_),
      pool_(pool),
      idle_(config.idle_sleep_max, kBurst / 2) {
  if (peers_) forwarder_.tell(&*peers_);
  if (config::takes_fragments(config)) {
    transmitter_.cut_with(&fragmenter_.emplace(pool, lcore_));
    reassembly_.emplace(config, lcore_, randomness.fdb_seed, pool, lanes_);
  }
  lldp_ = make_lldp(config);
  if (config.telemetry.enabled()) start_telemetry(config);
  for (std::size_t port = 0; port < shown_counters_.size(); ++port)
    shown_counters_[port].store(&lanes_[port]->counters, std::memory_order_release);
}

std::unique_ptr<Lldp> PacketLoop::make_lldp(const config::SwitchConfig& config) {
  if (!config.forwarding.lldp.enabled) return nullptr;
  return std::make_unique<Lldp>(config, identity_, lanes_, transmitter_, pool_,
                                queues_.first_ports());
}

void PacketLoop::announce_address() {
  announcer_.emplace(identity_, lanes_, transmitter_, pool_);
  announcer_->speak_on(spoken_for());
}

PortMask PacketLoop::spoken_for() const {
  PortMask ports = 0;
  for (const std::uint16_t port : queues_.first_ports()) ports |= mask_of(port);
  return ports;
}

PacketLoop::~PacketLoop() {
  for (std::uint16_t port = 0; port < lanes_.size(); ++port) transmitter_.discard(port);
}

std::size_t PacketLoop::turn(Instant now) {
  if (counters_.turns.get() != 0)
    counters_.longest_turn_ns.raise_to(static_cast<std::uint64_t>((now - turn_began_).to_ns()));
  turn_began_ = now;
  StageMeter meter(stages_, rte_rdtsc());
  const auto mark = [&](Stage stage, std::size_t packets) {
    const std::uint64_t tsc = rte_rdtsc();
    meter.mark(stage, packets, tsc);
    return tsc;
  };
  mark(Stage::commands, mailbox_.drain(now));
  catch_up(now);
  if (tap_ != nullptr) tap_->begin_turn(now);

  std::size_t total = 0;
  if (peers_) mark(Stage::handed, total = take_over(now));
  for (PolledQueue& queue : queues_.all()) {
    const std::uint16_t port = queue.port;
    std::size_t received = receive(*lanes_[port], queue);
    burst_arrived_ = mark(Stage::receive, received);
    if (received == 0) continue;
    total += received;
    if (telemetry_) received = take_telemetry(port, received);
    classify_burst(port, received, now);
    mark(Stage::classify, received);
    mark(Stage::aggregate, aggregate(port, now));
    if (to_host_.count != 0) mark(Stage::host, host(port, now));
    mark(Stage::forward, forward(port, now));
    mark(Stage::answer, answer(port));
  }
  if (!held_.empty() || any_lent_) {
    let_go_of_frames();
    meter.mark_rest(Stage::aggregate, rte_rdtsc());
  }

  mark(Stage::expire, aggregation_.expire(now) + forwarder_.expire(now) +
                          (lldp_ ? lldp_->expire(now) : 0) +
                          (announcer_ ? announcer_->expire(now) : 0) +
                          (link_probe_ ? link_probe_->expire(now) : 0) +
                          (udp_.next_hops().empty() ? 0 : ask_routers(now)) +
                          (reassembly_ ? reassembly_->expire(now) : 0));
  mark(Stage::transmit, transmitter_.flush());
  counters_.turns.add();
  if (total == 0) counters_.idle_turns.add();
  return total;
}

void PacketLoop::run(const TscClock& clock) {
  prctl(PR_SET_TIMERSLACK, 1'000);  // the default of 50 µs would be the shortest sleep
  while (!stopping_.load(std::memory_order_relaxed)) {
    const Duration pause = idle_.after_turn(turn(clock.now()));
    if (pause == Duration()) continue;
    sleep_for(pause);
    counters_.sleep_ns.add(static_cast<std::uint64_t>(pause.to_ns()));
  }
}

namespace {

// For what reads it at once, behind the two lines that receive() has asked for.
void prefetch_payload(const rte_mbuf* frame) {
  const auto* const data = rte_pktmbuf_mtod(frame, const std::byte*);
  for (std::size_t at = 2 * RTE_CACHE_LINE_SIZE; at < frame->data_len; at += RTE_CACHE_LINE_SIZE)
    rte_prefetch0(data + at);
}

}  // namespace

std::size_t PacketLoop::receive(Lane& lane, PolledQueue& queue) {
  std::uint16_t received = 0;
  // Captures look at whole frames.
  if (!receive_burst(*lane.port, queue.queue, burst_.data(), kBurst, received,
                     tap_ == nullptr ? in_place_.data() : nullptr, &queue.lent)) {
    lane.counters.peer_faults.add();
    return 0;
  }
  take_in_place(received, queue.lent);
  std::uint64_t bytes = 0;
  for (std::uint16_t i = 0; i < received; ++i) {
    // Down to the end of the aggregation header.
    rte_prefetch0(rte_pktmbuf_mtod(burst_[i], void*));
    rte_prefetch0(rte_pktmbuf_mtod_offset(burst_[i], void*, RTE_CACHE_LINE_SIZE));
    rte_mbuf_prefetch_part2(burst_[i]);  // for when it is freed
    bytes += burst_[i]->pkt_len;
  }
  if (lane.tap != nullptr)
    for (std::uint16_t i = 0; i < received; ++i)
      lane.tap->offer(CapturePoint::rx, lane.index, burst_[i]);
  if (received != 0) {
    queue.packets.add(received);
    queue.bursts.add();
    lane.counters.rx_packets.add(received);
    lane.counters.rx_bytes.add(bytes);
  }
  return received;
}

void PacketLoop::take_in_place(std::size_t received, bool lent) {
  if (!lent) {
    std::fill_n(in_place_.begin(), received, nullptr);
    return;
  }
  any_lent_ = true;
  const std::uint64_t own = mac_bits(identity_.mac);
  for (std::size_t i = 0; i < received; ++i)
    if (in_place_[i] != nullptr && mac_pair(first_segment(burst_[i])).destination != own)
      fetch_rest(*burst_[i], std::exchange(in_place_[i], nullptr));
}

// Other lcores, and all that is no engine's, get whole frames.
bool PacketLoop::stays_in_place(const Classified& what) const {
  if (what.action != Action::aggregate) return what.action == Action::drop;
  return !peers_ || owner_of(what).value_or(lcore_) == lcore_;
}

// A frame to the switch itself reaches no worker, and engines know the ports of their peers.
inline void PacketLoop::judge_sender(std::uint16_t port, std::uint64_t own,
                                     Classified& what) const {
  if (what.action == Action::drop || what.destination == own) return;
  const DropReason bad = senders_.judge(port, what.ethernet);
  if (bad == DropReason::none) return;
  what.action = Action::drop;
  what.reason = bad;
}

void PacketLoop::classify_burst(std::uint16_t port, std::size_t received, Instant now) {
  to_aggregate_.count = to_host_.count = to_forward_.count = to_answer_.count = 0;
  const std::span burst = std::span(burst_).first(received);
  forwarder_.filter(port, burst);
  const std::uint64_t own = mac_bits(identity_.mac);
  for (std::size_t i = 0; i < received; ++i) {
    classify(identity_, own, first_segment(burst[i]), burst[i]->nb_segs == 1, what_[i]);
    judge_sender(port, own, what_[i]);
  }
  forwarder_.admit(port, burst, what_, now);
  for (std::size_t i = 0; i < received; ++i) {
    if (what_[i].action == Action::reassemble && !put_together(port, i, now)) continue;
    rte_mbuf* const frame = burst[i];
    const Classified& what = what_[i];
    if (in_place_[i] != nullptr && !stays_in_place(what))
      fetch_rest(*frame, std::exchange(in_place_[i], nullptr));
    if (peers_ && hand_over(port, frame, what, burst_arrived_)) continue;
    switch (what.action) {
      case Action::rdma:
        if (RdmaFrontEnd::is_connected(what)) {
          if (i + 1 < received) prefetch_payload(burst[i + 1]);
          take_connected(port, frame, what, now);
          break;
        }
        [[fallthrough]];
      case Action::aggregate: to_aggregate_.add(i); break;
      case Action::host: to_host_.add(i); break;
      case Action::forward: to_forward_.add(i); break;
      case Action::answer_cm: answer_cm(port, frame, what, now); break;
      case Action::returned: take_returned(port, frame, what, now); break;
      case Action::lldp: intercept(port, frame, what, now); break;
      case Action::probe: take_probe(port, frame, what, now); break;
      case Action::intercept_arp: intercept_arp(port, i, now); break;
      case Action::answer_arp:
        if (!udp_.next_hops().empty()) learn_router(port, what, now);
        to_answer_.add(i);
        break;
      case Action::answer_echo: to_answer_.add(i); break;
      case Action::reassemble:
      case Action::drop:
        tell(port, frame, {.action = Action::drop});
        if (what.reason == DropReason::bpdu_guard) lanes_[port]->port->link().guard();
        if (what.reason == DropReason::own_address && announcer_ &&
            what.ethernet.ether_type == wire::kEtherTypeArp)
          announcer_->defend(port, now);
        drop(*lanes_[port], frame, what.reason);
        break;
    }
  }
}

std::size_t PacketLoop::aggregate(std::uint16_t port, Instant now) {
  for (const std::size_t i : to_aggregate_.get()) {
    take_device_check(port, *burst_[i], what_[i]);
    aggregation_.receive(port, what_[i], burst_arrived_, in_place_[i]);
  }
  aggregation_.handle(now);
  for (const std::size_t i : to_aggregate_.get()) held_.add(burst_[i]);
  if (!aggregation_.sums_wait() || held_.is_full()) let_go_of_frames();
  return to_aggregate_.count;
}

void PacketLoop::let_go_of_frames() {
  aggregation_.finish();
  held_.free_all();
  if (!std::exchange(any_lent_, false)) return;
  for (PolledQueue& queue : queues_.all())
    if (std::exchange(queue.lent, false))
      lanes_[queue.port]->port->memif_server()->give_back(queue.queue);
}

std::size_t PacketLoop::host(std::uint16_t port, Instant now) {
  for (const std::size_t i : to_host_.get()) {
    take_device_check(port, *burst_[i], what_[i]);
    aggregation_.host(port, what_[i], now);
    rte_pktmbuf_free(burst_[i]);
  }
  return to_host_.count;
}

std::size_t PacketLoop::forward(std::uint16_t port, Instant now) {
  const std::span places = to_forward_.get();
  // Jobs' packets of the burst may have been answered in between.
  if (telemetry_) telemetry_->attribute(port, burst_arrived_);
  if (tap_ == nullptr || !tap_->wants_verdicts()) {
    forwarder_.forward(port, burst_, what_, places, now);
    return places.size();
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    tap_->tell(
        port, burst_[places[i]],
        {.action = Action::forward, .way = forwarder_.way_of(what_[places[i]], places[i], now)});
    forwarder_.forward(port, burst_, what_, places.subspan(i, 1), now);
  }
  return places.size();
}

std::size_t PacketLoop::answer(std::uint16_t port) {
  for (const std::size_t i : to_answer_.get()) answer_one(port, burst_[i], what_[i]);
  return to_answer_.count;
}

void PacketLoop::answer_one(std::uint16_t port, rte_mbuf* frame, const Classified& what) {
  tell(port, frame, {.action = what.action});
  // The frame becomes the answer: a peer that shares memory with the switch may hold it still (rule
  // 19).
  rte_mbuf* const answer = own_frame(frame, pool_);
  if (answer == nullptr) return lanes_[port]->counters.drops.add(DropReason::no_mbuf);
  wire::EthernetView view = what.ethernet;
  if (answer != frame) wire::parse_ethernet(first_segment(answer), view);
  if (what.action == Action::answer_arp)
    answer_arp(identity_, first_segment(answer), view);
  else
    answer_echo(first_segment(answer), view);
  // A request that came in fragments may get an answer longer than the MTU: only the jobs' class is
  // cut.
  const bool long_one = answer->pkt_len > lanes_[port]->most_bytes + wire::kVlanBytes;
  transmitter_.send(port, answer, long_one ? TrafficClass::jobs : TrafficClass::others);
}

void PacketLoop::intercept(std::uint16_t port, rte_mbuf* frame, const Classified& what,
                           Instant now) {
  tell(port, frame, {.action = Action::lldp});
  const DropReason useless = lldp_ ? lldp_->receive(port, what.ethernet, now) : what.reason;
  if (useless != DropReason::none) return drop(*lanes_[port], frame, useless);
  rte_pktmbuf_free(frame);
}

std::shared_ptr<PacketLoop::Change> PacketLoop::prepare(const config::SwitchConfig& next,
                                                        const config::ForwardingChange& parts) {
  const config::SwitchConfig part = config::lcore_part(next, lcore_, share_);
  auto change = std::make_shared<Change>(Change{.aggregation = aggregation_.prepare(part),
                                                .identity = identity_of(next),
                                                .senders = JobSenders(next),
                                                .udp = UdpFrontEnd(next, part),
                                                .rdma = RdmaFrontEnd(next, part, lcore_, 0),
                                                .forwarding = {},
                                                .idle_sleep_max = {},
                                                .lldp_rules = {},
                                                .lldp = {},
                                                .telemetry = {},
                                                .ports = {},
                                                .mtus = {},
                                                .forget = 0,
                                                .plan = {}});
  change->rdma.make_room_for(rdma_);
  forwarder_.prepare(next, parts, change->forwarding);
  if (parts.idle_sleep) change->idle_sleep_max = next.idle_sleep_max;
  if (parts.lldp) change->lldp_rules = next.forwarding.lldp;
  if (parts.lldp && !lldp_) change->lldp = make_lldp(next);
  if (telemetry_)
    change->telemetry = std::make_unique<LoopTelemetry::Rules>(LoopTelemetry::rules_of(next));
  return change;
}

void PacketLoop::apply(Change& change, Instant now) {
  // Members are told of an end over the paths that were valid until now.
  aggregation_.end_rerouted(change.udp, change.rdma.connections(), now);
  aggregation_.apply(*change.aggregation, now);
  forwarder_.apply(change.forwarding);
  std::swap(identity_, change.identity);
  std::swap(senders_, change.senders);
  change.udp.adopt(udp_);
  std::swap(udp_, change.udp);
  change.rdma.adopt(rdma_);
  std::swap(rdma_, change.rdma);
  if (change.idle_sleep_max) idle_.set_longest(*change.idle_sleep_max);
  if (change.lldp_rules) apply_lldp(change, now);
  transmitter_.flush();
  // Frames that still wait were forwarded by the VLANs before, or have metadata that may leave no
  // more.
  for (std::uint16_t port = 0; port < lanes_.size(); ++port)
    if ((change.forwarding.other_vlans & mask_of(port)) != 0)
      transmitter_.discard(port, DropReason::vlan_denied);
    else if (change.telemetry && telemetry_->loses_trust(port, *change.telemetry))
      transmitter_.discard_stamped(port);
  if (change.telemetry) telemetry_->exchange(*change.telemetry);
  for (const auto& [place, port] : change.ports) exchange_port(place, *port);
  for (const auto& [place, mtu] : change.mtus) lanes_[place]->set_mtu(mtu);
  if (change.forget != 0) forwarder_.forget_behind(change.forget);
  if (change.plan) release(*change.plan, now);
}

void PacketLoop::apply_lldp(Change& change, Instant now) {
  if (lldp_ && change.lldp_rules->enabled) return lldp_->set_rules(*change.lldp_rules, now);
  if (lldp_) lldp_->say_goodbye();
  std::swap(lldp_, change.lldp);
}

void PacketLoop::exchange_port(std::uint16_t place, Port& port) {
  transmitter_.discard(place);
  if (reassembly_) reassembly_->discard(place);
  lanes_[place]->exchange(port);
  forwarder_.look_at_ports();
  forget_behind(mask_of(place));
  udp_.next_hops().forget_behind(place);
}

void PacketLoop::forget_behind(PortMask ports) {
  forwarder_.forget_behind(ports);
  for (std::uint16_t port = 0; lldp_ && port < lanes_.size(); ++port)
    if ((ports & mask_of(port)) != 0) lldp_->forget_behind(port);
}

std::vector<std::uint32_t> PacketLoop::drain(const std::vector<std::uint32_t>& jobs,
                                             aggregator::Holder by, Instant now) {
  std::vector<std::uint32_t> still = aggregation_.drain(jobs, by, now);
  transmitter_.flush();
  return still;
}

void PacketLoop::lose_behind(std::uint16_t port, Duration gone, Instant now) {
  if (lanes_[port]->port->link().up()) return;
  aggregation_.lose_behind(port, gone, now);
  transmitter_.flush();
}

void PacketLoop::capture(CaptureTap* tap) {
  tap_ = tap;
  for (const auto& lane : lanes_) lane->tap = tap;
}

void PacketLoop::shut_down(Instant now) {
  aggregation_.shut_down(now);
  if (lldp_) lldp_->say_goodbye();
  transmitter_.flush();
}

}  // namespace tributary::dataplane
