#include "tests/dataplane/ring_switch.h"

#include <rte_eth_ring.h>
#include <rte_ring.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "dataplane/eal.h"

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

void start_test_eal() {
  static const Eal eal([] {
    config::SwitchConfig config;
    config.memory.megabytes = 96;
    config.ports = {{"none", "net_null0", 1500}};
    const auto environment = current_environment();
    return eal_arguments(config, environment);
  }());
}

config::SwitchConfig test_config(std::size_t ports) {
  config::SwitchConfig config;
  config.ipv4 = 0x0A4D00FE;
  config.memory.megabytes = 48;
  for (std::size_t i = 0; i < ports; ++i)
    config.ports.push_back({std::string("p").append(std::to_string(i)), "net_ring", 1500});
  return config;
}

RingSwitch::RingSwitch(config::SwitchConfig config) : config_(std::move(config)) {
  start_test_eal();
  pool_ = std::make_unique<FramePool>(size_pool(config_));
  std::vector<Port*> raw;
  for (const auto& port : config_.ports) {
    auto& in = to_switch_.emplace_back();
    auto& out = from_switch_.emplace_back();
    for (unsigned queue = 0; queue < port.queues; ++queue) {
      in.push_back(make_ring());
      out.push_back(make_ring());
    }
    const int ethdev = rte_eth_from_rings(next_name().c_str(), in.data(), port.queues, out.data(),
                                          port.queues, SOCKET_ID_ANY);
    if (ethdev < 0) throw std::runtime_error("no ring port");
    ports_.push_back(
        std::make_unique<Port>(port, pool_->get(), static_cast<std::uint16_t>(ethdev)));
    raw.push_back(ports_.back().get());
  }
  workers_ = std::make_unique<Workers>(config_, raw, pool_->get(), Randomness{77, 1});
}

RingSwitch::~RingSwitch() {
  workers_.reset();
  for (std::size_t i = 0; i < ports_.size(); ++i) sent(i);
  ports_.clear();
  for (const auto* rings : {&to_switch_, &from_switch_})
    for (const auto& of_port : *rings)
      for (rte_ring* ring : of_port) rte_ring_free(ring);
}

std::size_t RingSwitch::turn() {
  std::size_t handled = 0;
  for (std::size_t lcore = 0; lcore < workers_->size(); ++lcore) handled += turn(lcore);
  return handled;
}

void RingSwitch::inject(std::size_t port, std::span<const std::byte> frame, std::size_t segments) {
  inject_at(port, 0, frame, segments);
}

void RingSwitch::inject_at(std::size_t port, std::size_t queue, std::span<const std::byte> frame,
                           std::size_t segments) {
  if (rte_ring_enqueue(to_switch_[port][queue], make_frame(pool(), frame, segments)) != 0)
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
  return rte_mempool_in_use_count(pool());
}

}  // namespace tributary::dataplane
