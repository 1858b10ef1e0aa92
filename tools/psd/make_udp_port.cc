#include "tools/psd/make_udp_port.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "config/codec.h"
#include "dataplane/eal.h"
#include "worker/host_loop.h"

namespace tributary::psd {
namespace {

constexpr std::uint32_t kMegabytes = 64;  // DPDK's own, and a port's buffers at any MTU

// The switch that DPDK's arguments and the pool are made for: one port, nothing to sum.
config::SwitchConfig as_switch(const config::ServerConfig& server) {
  config::SwitchConfig config;
  config.name = server.name;
  config.ipv4 = server.ipv4;
  config.memory.megabytes = kMegabytes;
  config.memory.hugepages = server.dpdk.hugepages;
  config::PortConfig port;
  port.name = server.name;
  port.devargs = server.dpdk.devargs;
  port.mtu = server.dpdk.mtu;
  config.ports = {port};
  return config;
}

std::vector<std::uint32_t> roots(const config::ServerConfig& server) {
  std::vector<std::uint32_t> all;
  for (const config::ServedJobConfig& job : server.jobs) all.push_back(job.root_ipv4);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

std::unique_ptr<dataplane::UdpPort> make_udp_port(const config::ServerConfig& server) try {
  const config::SwitchConfig config = as_switch(server);
  const dataplane::PoolSize size = dataplane::size_pool(config);
  static const dataplane::Eal eal(
      dataplane::eal_arguments(config, dataplane::current_environment()));
  auto pool = std::make_unique<dataplane::FramePool>(size);
  auto port = std::make_unique<dataplane::Port>(config.ports[0], dataplane::PortUse::endpoint);
  port->set_up(std::array{pool->get()});
  dataplane::UdpPortSettings settings{.own = {server.ipv4, server.udp_port},
                                      .mac = config::derived_mac(server.ipv4),
                                      .peers = roots(server),
                                      .datagram_bytes = worker::datagram_bytes(server),
                                      .idle_sleep_max = server.dpdk.idle_sleep_max};
  return std::make_unique<dataplane::UdpPort>(std::move(settings), std::move(pool),
                                              std::move(port));
} catch (const std::runtime_error& error) {
  throw std::runtime_error("server.dpdk: " + std::string(error.what()) + " (a server takes " +
                           std::to_string(kMegabytes) +
                           " MiB for it, of hugepages with server.dpdk.hugepages)");
}

}  // namespace tributary::psd
