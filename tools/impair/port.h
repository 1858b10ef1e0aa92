// DPDK of the impairment tool: one EAL, two ports, one mbuf pool.
//
// Frames up to 16 KiB stay in one mbuf, so that one copy and one bit flip cover a whole jumbo
// frame. Used by the main thread only.
#pragma once

#include <rte_mbuf.h>

#include <cstdint>
#include <string>

namespace tributary::impair {

// Starts the EAL without hugepages, files or PCI devices. Throws std::runtime_error.
void start_eal();
void stop_eal();

struct Port {
  std::uint16_t id = 0;
  rte_mempool* pool = nullptr;

  [[nodiscard]] bool link_up() const;

  // Both return how many frames they moved. Frames that transmit() does not take stay the caller's.
  std::uint16_t receive(rte_mbuf** frames, std::uint16_t capacity, std::uint16_t queue = 0) const;
  std::uint16_t transmit(rte_mbuf** frames, std::uint16_t count) const;
};

rte_mempool* create_pool(std::uint32_t mbufs);
// Plugs the device, configures and starts it in promiscuous mode. Throws std::runtime_error with
// the devargs and DPDK's reason.
Port open_port(const std::string& devargs, rte_mempool* pool, std::uint16_t rx_queues = 1);
void close_port(const Port& port);

}  // namespace tributary::impair
