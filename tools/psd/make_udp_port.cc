#include "tools/psd/make_udp_port.h"

#include <algorithm>
#include <array>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "config/text/codec.h"
#include "dataplane/port/eal.h"
#include "worker/host/host_loop.h"

namespace tributary::psd {
namespace {

// DPDK's own, and a port's buffers at any MTU; and a mebibyte for so many that are put together.
constexpr std::uint32_t kMegabytes = 64;
constexpr std::uint32_t kDatagramsInOne = 64;

std::uint32_t megabytes(const config::ServerConfig& server) {
  return kMegabytes + server.dpdk.fragments.datagrams / kDatagramsInOne;
}

// The switch that DPDK's arguments and the pool are made for: one port, and packets as the jobs'.
config::SwitchConfig as_switch(const config::ServerConfig& server) {
  config::SwitchConfig config;
  config.name = server.name;
  config.ipv4 = server.ipv4;
  config.memory.megabytes = megabytes(server);
  config.memory.hugepages = server.dpdk.hugepages;
  config::PortConfig port;
  port.name = server.name;
  port.devargs = server.dpdk.devargs;
  port.mtu = server.dpdk.mtu;
  config.ports = {port};
  config.fragments = server.dpdk.fragments;
  for (const config::ServedJobConfig& served : server.jobs) config.jobs.push_back(served.job);
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
                                      .idle_sleep_max = server.dpdk.idle_sleep_max,
                                      .fragments = server.dpdk.fragments,
                                      .seed = std::random_device()()};
  return std::make_unique<dataplane::UdpPort>(std::move(settings), std::move(pool),
                                              std::move(port));
} catch (const std::runtime_error& error) {
  throw std::runtime_error("server.dpdk: " + std::string(error.what()) + " (a server takes " +
                           std::to_string(megabytes(server)) +
                           " MiB for it, of hugepages with server.dpdk.hugepages)");
}

}  // namespace tributary::psd
