#include "tools/impair/port.h"

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "dataplane/host/interrupt_thread.h"
#include "dataplane/port/fault_guard.h"
#include "dataplane/port/memif_disconnect.h"

namespace tributary::impair {
namespace {

constexpr std::uint16_t kDescriptors = 1024;
constexpr std::uint16_t kDataRoomBytes = RTE_PKTMBUF_HEADROOM + 16384;
constexpr char kMemoryMegabytes[] = "192";

[[noreturn]] void fail(const std::string& what, int error) {
  throw std::runtime_error(what + ": " + rte_strerror(error < 0 ? -error : error));
}

// One lcore that may run on every CPU this process may: the tool must not claim a core.
std::string unpinned_lcore() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return "0";
  std::string lcore = "0@(";
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &cpus)) continue;
    lcore += std::to_string(cpu);
    lcore += ',';
  }
  lcore.back() = ')';
  return lcore;
}

}  // namespace

void start_eal() {
  std::array<std::string, 13> words = {"tributary-impair",
                                       "--no-huge",
                                       "-m",
                                       kMemoryMegabytes,
                                       "--no-pci",
                                       "--no-telemetry",
                                       "--no-shconf",
                                       "--lcores",
                                       unpinned_lcore(),
                                       "--file-prefix",
                                       "tributary-impair-" + std::to_string(getpid()),
                                       "--log-level",
                                       "lib.eal:warning"};
  std::array<char*, words.size()> argv{};
  for (std::size_t i = 0; i < words.size(); ++i) argv[i] = words[i].data();
  if (rte_eal_init(static_cast<int>(argv.size()), argv.data()) < 0)
    fail("cannot start the EAL", rte_errno);
  // A memif client that takes away its memory must not end this process.
  dataplane::install_fault_handlers();
  dataplane::disconnect_after_bursts();
}

void stop_eal() {
  // No rte_eal_cleanup(): it unmaps memory that the interrupt thread may be using for a memif
  // that just lost its peer. The process ends anyway; what would stay is this empty directory.
  rmdir(rte_eal_get_runtime_dir());
}

rte_mempool* create_pool(std::uint32_t mbufs) {
  rte_mempool* pool = rte_pktmbuf_pool_create("impair", mbufs, 128, 0, kDataRoomBytes, 0);
  if (pool == nullptr) fail("cannot allocate " + std::to_string(mbufs) + " mbufs", rte_errno);
  return pool;
}

Port open_port(const std::string& devargs, rte_mempool* pool, std::uint16_t rx_queues) {
  const auto check = [&devargs](const char* step, int result) {
    if (result < 0) fail("port '" + devargs + "': cannot " + step, result);
  };
  check("create it", rte_dev_probe(devargs.c_str()));
  Port port{.pool = pool};
  const std::string name = devargs.substr(0, devargs.find(','));
  check("find it", rte_eth_dev_get_port_by_name(name.c_str(), &port.id));
  const rte_eth_conf conf{};
  check("configure it", rte_eth_dev_configure(port.id, rx_queues, 1, &conf));
  std::uint16_t rx = kDescriptors;
  std::uint16_t tx = kDescriptors;
  check("size its queues", rte_eth_dev_adjust_nb_rx_tx_desc(port.id, &rx, &tx));
  for (std::uint16_t queue = 0; queue < rx_queues; ++queue)
    check("set up its receive queue",
          rte_eth_rx_queue_setup(port.id, queue, rx, SOCKET_ID_ANY, nullptr, pool));
  check("set up its transmit queue",
        rte_eth_tx_queue_setup(port.id, 0, tx, SOCKET_ID_ANY, nullptr));
  check("start it", rte_eth_dev_start(port.id));
  const int promiscuous = rte_eth_promiscuous_enable(port.id);
  if (promiscuous != -ENOTSUP) check("make it promiscuous", promiscuous);
  return port;
}

void close_port(const Port& port) {
  dataplane::on_interrupt_thread([&port] {
    rte_eth_dev_stop(port.id);
    rte_eth_dev_close(port.id);
  });
}

bool Port::link_up() const {
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

std::uint16_t Port::receive(rte_mbuf** frames, std::uint16_t capacity, std::uint16_t queue) const {
  std::uint16_t received = 0;
  const auto burst = [&] { received = rte_eth_rx_burst(id, queue, frames, capacity); };
  return dataplane::guarded(burst) != dataplane::Guarded::cut_short ? received : std::uint16_t{0};
}

std::uint16_t Port::transmit(rte_mbuf** frames, std::uint16_t count) const {
  std::uint16_t sent = 0;
  const auto burst = [&] { sent = rte_eth_tx_burst(id, 0, frames, count); };
  // The call did not end. It may have freed any of the frames, so none may be touched.
  return dataplane::guarded(burst) != dataplane::Guarded::cut_short ? sent : count;
}

}  // namespace tributary::impair
