#include "tests/dataplane/ring_switch.h"

#include <rte_eth_ring.h>
#include <rte_malloc.h>
#include <rte_ring.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "config/plan/port_places.h"
#include "dataplane/port/eal.h"

namespace tributary::dataplane {

std::string next_name() {
  static unsigned count = 0;
  return std::string("ring").append(std::to_string(count++));
}

rte_ring* make_ring() {
  rte_ring* ring = rte_ring_create(next_name().c_str(), RingSwitch::kRingSize, SOCKET_ID_ANY,
                                   RING_F_SP_ENQ | RING_F_SC_DEQ);
  if (ring == nullptr) throw std::runtime_error("no ring");
  return ring;
}

rte_mbuf* make_frame(rte_mempool* pool, std::span<const std::byte> frame, std::size_t segments) {
  rte_mbuf* head = nullptr;
  const std::size_t piece = (frame.size() + segments - 1) / segments;
  for (std::size_t at = 0; at < frame.size(); at += piece) {
    const auto part = frame.subspan(at, std::min(piece, frame.size() - at));
    rte_mbuf* segment = rte_pktmbuf_alloc(pool);
    if (segment == nullptr) throw std::runtime_error("no buffer");
    std::memcpy(rte_pktmbuf_append(segment, static_cast<std::uint16_t>(part.size())), part.data(),
                part.size());
    if (head == nullptr)
      head = segment;
    else
      rte_pktmbuf_chain(head, segment);
  }
  return head;
}

Bytes take_bytes(rte_mbuf* frame) {
  Bytes bytes;
  for (const rte_mbuf* segment = frame; segment != nullptr; segment = segment->next) {
    const auto* data = rte_pktmbuf_mtod(segment, const std::byte*);
    bytes.insert(bytes.end(), data, data + segment->data_len);
  }
  rte_pktmbuf_free(frame);
  return bytes;
}

void start_test_eal(bool hugepages) {
  static const Eal eal([hugepages] {
    config::SwitchConfig config;
    config.memory.hugepages = hugepages;
    config.memory.megabytes = 96;
    config.ports = {{"none", "net_null0", 1500}};
    const auto environment = current_environment();
    return eal_arguments(config, environment);
  }());
}

int other_socket() {
  static const int socket = [] {
    start_test_eal();
    constexpr const char* kHeap = "other";
    constexpr std::size_t kPage = std::size_t{2} << 20;  // no buffer lies across two
    void* const memory = std::aligned_alloc(kPage, kOtherSocketBytes);
    if (memory == nullptr || rte_malloc_heap_create(kHeap) != 0 ||
        rte_malloc_heap_memory_add(kHeap, memory, kOtherSocketBytes, nullptr, 0, kPage) != 0)
      throw std::runtime_error("no other heap");
    return rte_malloc_heap_get_socket(kHeap);
  }();
  return socket;
}

config::SwitchConfig test_config(std::size_t ports) {
  config::SwitchConfig config;
  config.ipv4 = 0x0A4D00FE;
  config.memory.megabytes = 48;
  for (std::size_t i = 0; i < ports; ++i)
    config.ports.push_back({std::string("p").append(std::to_string(i)), "net_ring", 1500});
  return config;
}

RingSwitch::RingSwitch(config::SwitchConfig config, const config::Machine& machine, bool checks_udp)
    : config_(std::move(config)), machine_(machine), checks_udp_(checks_udp) {
  start_test_eal();
  pools_ = std::make_unique<FramePools>(config_, machine_, [](const std::string&) {});
  std::vector<Port*> raw;
  for (const auto& port : config_.ports) {
    ports_.push_back(open(ports_.size(), port, pools_->plan()));
    raw.push_back(ports_.back().get());
  }
  packet_loops_ = std::make_unique<PacketLoops>(config_, raw, *pools_, Randomness{77, 1});
}

std::unique_ptr<Port> RingSwitch::open(std::size_t place, const config::PortConfig& port,
                                       const config::NumaPlan& plan) {
  to_switch_.resize(std::max(to_switch_.size(), place + 1));
  from_switch_.resize(to_switch_.size());
  auto& in = to_switch_[place];
  auto& out = from_switch_[place];
  for (unsigned queue = 0; queue < port.queues; ++queue) {
    in.push_back(make_ring());
    out.push_back(make_ring());
  }
  const int ethdev = rte_eth_from_rings(next_name().c_str(), in.data(), port.queues, out.data(),
                                        port.queues, SOCKET_ID_ANY);
  if (ethdev < 0) throw std::runtime_error("no ring port");
  auto opened = std::make_unique<Port>(port, static_cast<std::uint16_t>(ethdev), checks_udp_);
  opened->set_up(pools_->of_port(place, plan));
  return opened;
}

void RingSwitch::close(std::size_t place) {
  sent(place);
  ports_[place].reset();
  void* frame = nullptr;
  for (rte_ring* ring : to_switch_[place]) {
    while (rte_ring_dequeue(ring, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
    rte_ring_free(ring);
  }
  for (rte_ring* ring : from_switch_[place]) rte_ring_free(ring);
  to_switch_[place].clear();
  from_switch_[place].clear();
}

void RingSwitch::reload(const config::SwitchConfig& file, const Between& between,
                        const std::vector<std::uint16_t>& refused) {
  const auto change = config::difference(config_, file, {pools_->data_bytes(), pools_->buffers()});
  const auto next = config::seated(config_, file, config::seat_ports(config_, file));
  const std::vector<std::uint16_t>& again = change.ports.reopened;
  ports_.resize(next.ports.size());
  std::vector<std::uint16_t> opened = change.ports.added;
  opened.insert(opened.end(), again.begin(), again.end());
  pools_->apply(pools_->change(next, machine_, opened));
  for (const std::uint16_t place : change.ports.added)
    ports_[place] = open(place, next.ports[place], pools_->plan());
  std::vector<std::unique_ptr<Port>> closed;
  std::vector<PacketLoop::PortAt> ports;
  for (const std::uint16_t place : again) {
    closed.push_back(Port::closed(next.ports[place]));
    closed.back()->succeed(*ports_[place],
                           ports_[place]->config().devargs == next.ports[place].devargs);
    ports.emplace_back(place, closed.back().get());
  }
  take_steps(config::with_closed(next, again), change, ports, between);
  for (const std::uint16_t place : change.ports.removed) close(place);
  if (again.empty()) return;
  config::Change of_ports;
  ports.clear();
  for (std::size_t i = 0; i < again.size(); ++i) {
    const std::uint16_t place = again[i];
    close(place);
    if (std::find(refused.begin(), refused.end(), place) != refused.end()) {
      closed[i]->stay_down("refused");
      ports_[place] = std::move(closed[i]);
      continue;
    }
    ports_[place] = open(place, next.ports[place], pools_->plan());
    ports_[place]->succeed(*closed[i], true);
    ports.emplace_back(place, ports_[place].get());
  }
  if (!ports.empty()) take_steps(config::with_closed(next, refused), of_ports, ports, between);
}

void RingSwitch::take_steps(const config::SwitchConfig& next, const config::Change& change,
                            const std::vector<PacketLoop::PortAt>& ports, const Between& between) {
  std::vector<std::shared_ptr<PacketLoop::Change>> prepared;
  for (std::size_t lcore = 0; lcore < packet_loops_->size(); ++lcore) {
    auto part = packet_loop(lcore).prepare(next, change.forwarding);
    part->plan = packet_loop(lcore).plan_ports(next, change.ports);
    part->plan->loops_left = &loops_left_;
    for (const std::uint16_t place : change.ports.added)
      part->plan->added.emplace_back(
          place, make_lane(*ports_[place], place, part->plan->ways[place], lcore));
    for (const auto& [place, port] : ports)
      (port->is_device() ? part->plan->opened : part->plan->closed).emplace_back(place, port);
    for (const std::uint16_t place : change.ports.resized)
      part->mtus.emplace_back(place, next.ports[place].mtu);
    prepared.push_back(std::move(part));
  }
  loops_left_ = prepared.size();
  for (const Step step : {Step::make_room, Step::apply, Step::attach})
    for (std::size_t lcore = 0; lcore < prepared.size(); ++lcore) {
      if (step == Step::make_room) packet_loop(lcore).make_room(*prepared[lcore]->plan);
      if (step == Step::apply) packet_loop(lcore).apply(*prepared[lcore], now);
      if (step == Step::attach) packet_loop(lcore).attach(now);
      if (between) between(step, lcore);
    }
  config_ = next;
}

RingSwitch::~RingSwitch() {
  packet_loops_.reset();
  for (std::size_t i = 0; i < ports_.size(); ++i) close(i);
}

std::size_t RingSwitch::turn() {
  std::size_t handled = 0;
  for (std::size_t lcore = 0; lcore < packet_loops_->size(); ++lcore) handled += turn(lcore);
  return handled;
}

void RingSwitch::inject(std::size_t port, std::span<const std::byte> frame, std::size_t segments) {
  inject_at(port, 0, frame, segments);
}

void RingSwitch::inject_at(std::size_t port, std::size_t queue, std::span<const std::byte> frame,
                           std::size_t segments) {
  rte_mempool* const pool = pools_->of_port(port, pools_->plan())[queue];
  rte_mbuf* const buffers = make_frame(pool, frame, segments);
  if (checks_udp_) buffers->ol_flags |= RTE_MBUF_F_RX_L4_CKSUM_GOOD;
  if (rte_ring_enqueue(to_switch_[port][queue], buffers) != 0)
    throw std::runtime_error("receive ring full");
}

void RingSwitch::inject_marked(std::size_t port, std::span<const std::byte> frame,
                               std::uint64_t ol_flags) {
  rte_mbuf* const buffer = make_frame(pools_->of_port(port, pools_->plan())[0], frame);
  buffer->ol_flags |= ol_flags;
  inject_buffers(port, buffer);
}

void RingSwitch::inject_buffers(std::size_t port, rte_mbuf* frame) {
  if (rte_ring_enqueue(to_switch_[port][0], frame) != 0)
    throw std::runtime_error("receive ring full");
}

std::vector<rte_mbuf*> RingSwitch::sent_buffers(std::size_t port) {
  std::vector<rte_mbuf*> out;
  void* frame = nullptr;
  for (rte_ring* ring : from_switch_[port])
    while (rte_ring_dequeue(ring, &frame) == 0) out.push_back(static_cast<rte_mbuf*>(frame));
  return out;
}

std::vector<Bytes> RingSwitch::sent(std::size_t port) {
  std::vector<Bytes> out;
  for (rte_mbuf* frame : sent_buffers(port)) out.push_back(take_bytes(frame));
  return out;
}

unsigned RingSwitch::buffers_in_use() const {
  unsigned all = 0;
  for (const auto& pool : *pools_) all += rte_mempool_in_use_count(pool->get());
  return all;
}

}  // namespace tributary::dataplane
