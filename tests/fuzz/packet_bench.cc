#include "tests/fuzz/packet_bench.h"

#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <stdexcept>

#include "tests/dataplane/ring_switch.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

constexpr unsigned kArrivals = 2047;

rte_ring* make_small_ring() {
  rte_ring* const ring = rte_ring_create(dataplane::next_name().c_str(), PacketBench::kRing,
                                         SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
  if (ring == nullptr) throw std::runtime_error("no ring");
  return ring;
}

std::vector<rte_mbuf*> drain(rte_ring* ring) {
  std::vector<rte_mbuf*> out;
  for (void* frame = nullptr; rte_ring_dequeue(ring, &frame) == 0;)
    out.push_back(static_cast<rte_mbuf*>(frame));
  return out;
}

}  // namespace

config::SwitchConfig PacketBench::ports_config() {
  config::SwitchConfig config = dataplane::test_config(kPorts);
  config.memory.megabytes = 64;
  config.ports[1].mtu = 9000;
  config.ports[2].mtu = 576;
  return config;
}

PacketBench& PacketBench::instance() {
  static PacketBench* const bench = new PacketBench;  // ends with the process
  return *bench;
}

PacketBench::PacketBench() {
  dataplane::start_test_eal();
  config::SwitchConfig config = ports_config();
  config.lcores = {-1, -1};
  pools_ =
      std::make_unique<dataplane::FramePools>(config, config::Machine{}, [](const std::string&) {});
  arrivals_ = rte_pktmbuf_pool_create("arrivals", kArrivals, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE,
                                      SOCKET_ID_ANY);
  if (arrivals_ == nullptr) throw std::runtime_error("no pool");
  for (std::size_t place = 0; place < kPorts; ++place) {
    in_[place] = make_small_ring();
    out_[place] = make_small_ring();
    const int ethdev = rte_eth_from_rings(dataplane::next_name().c_str(), &in_[place], 1,
                                          &out_[place], 1, SOCKET_ID_ANY);
    if (ethdev < 0) throw std::runtime_error("no ring port");
    const bool checks_udp = place + 1 == kPorts;
    ports_.push_back(std::make_unique<dataplane::Port>(
        config.ports[place], static_cast<std::uint16_t>(ethdev), checks_udp));
    ports_.back()->set_up(pools_->of_port(place, pools_->plan()));
  }
}

void PacketBench::start(const config::SwitchConfig& config) {
  std::vector<dataplane::Port*> raw;
  for (const auto& port : ports_) raw.push_back(port.get());
  packet_loops_ = std::make_unique<dataplane::PacketLoops>(
      config, raw, *pools_, dataplane::Randomness{kFirstEpoch, 1, 1});
}

void PacketBench::stop() {
  packet_loops_.reset();
  for (std::size_t place = 0; place < kPorts; ++place) {
    set_link(place, true);
    for (rte_ring* const ring : {in_[place], out_[place]})
      for (rte_mbuf* const frame : drain(ring)) rte_pktmbuf_free(frame);
  }
}

void PacketBench::set_link(std::size_t place, bool up) {
  const std::uint16_t ethdev = ports_[place]->ethdev();
  FUZZ_CHECK((up ? rte_eth_dev_set_link_up(ethdev) : rte_eth_dev_set_link_down(ethdev)) == 0);
  ports_[place]->poll_link();
}

bool PacketBench::give(std::size_t port, rte_mbuf* frame) {
  return rte_ring_enqueue(in_[port], frame) == 0;
}

bool PacketBench::waits(std::size_t port) const {
  return rte_ring_empty(in_[port]) == 0;
}

std::vector<rte_mbuf*> PacketBench::take(std::size_t port) {
  return drain(out_[port]);
}

std::int64_t PacketBench::in_use(rte_mempool* pool) {
  if (rte_mempool_cache* const cache = rte_mempool_default_cache(pool, rte_lcore_id()))
    rte_mempool_cache_flush(cache, pool);
  // rte_mempool_avail_count() never shows more than there may be.
  return std::int64_t{pool->size} -
         std::int64_t{rte_ring_count(static_cast<const rte_ring*>(pool->pool_data))};
}

}  // namespace tributary::fuzz
