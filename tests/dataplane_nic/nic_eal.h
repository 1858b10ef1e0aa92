// DPDK for tests with fake network cards, and buffers for one port of these.
#pragma once

#include <rte_mempool.h>

#include <memory>
#include <string>
#include <vector>

#include "config/model/switch_config.h"
#include "dataplane/port/frame_pools.h"
#include "dataplane/port/port.h"

namespace tributary::dataplane {

// Without devices or files, for two packet loops; started once per process.
void start_nic_eal();

// 10.77.0.254, two loops, and a port for each device: "p0", "p1"..., each with two pairs of queues,
// of lcore 0 and lcore 1.
config::SwitchConfig nic_config(const std::vector<std::string>& devices);

// One port of a configuration of its own, with the buffers that it needs: not started yet. While it
// is there, no switch can be.
struct LonePort {
  explicit LonePort(const config::PortConfig& port);
  void set_up() { port->set_up(pools->of_port(0, pools->plan())); }

  config::SwitchConfig config;
  std::unique_ptr<FramePools> pools;
  std::unique_ptr<Port> port;
};

}  // namespace tributary::dataplane
