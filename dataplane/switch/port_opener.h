// Opens the devices of ports, with buffers for their queues; nothing uses them yet. Who holds the
// configuration puts them at their places.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/change/change.h"
#include "config/plan/numa_plan.h"
#include "dataplane/port/frame_pools.h"
#include "dataplane/port/port.h"
#include "dataplane/switch/link_monitor.h"

namespace tributary::dataplane {

// By places.
using OpenPorts = std::vector<std::pair<std::uint16_t, std::unique_ptr<Port>>>;

class PortOpener {
 public:
  // `config`: the one that runs.
  PortOpener(const config::SwitchConfig& config, const FramePools& pools,
             const LinkMonitor::Report& report)
      : config_(config), pools_(pools), report_(report) {}

  // Starts the port's device, with the buffers of its place; what that lacks is reported. Throws
  // std::runtime_error.
  void set_up(Port& port, std::size_t place, const config::NumaPlan& plan) const;
  // Those that come or get another device. `plan`: of the pools from then on. Throws
  // std::runtime_error.
  OpenPorts open(const config::SwitchConfig& next, const config::PortChange& change,
                 config::NumaPlan& plan) const;
  // In the place of a port that is closed for it; nullptr: `why` says why not.
  std::unique_ptr<Port> try_open(const config::PortConfig& port, std::uint16_t place,
                                 const config::NumaPlan& plan, const Port& closed,
                                 std::string& why) const;
  // The same, with buffers for what the port had; nullptr: it cannot be.
  std::unique_ptr<Port> open_as_before(const config::SwitchConfig& next, std::uint16_t place,
                                       const Port& closed) const;
  // For ports at these places, which have no queues now. Throws where buffers are lacking.
  [[nodiscard]] config::NumaPlan plan_for(const config::SwitchConfig& next,
                                          const std::vector<std::uint16_t>& places) const;

 private:
  // Where all ports will be.
  [[nodiscard]] config::Machine machine_with(const config::PortChange& change,
                                             const OpenPorts& opened) const;

  const config::SwitchConfig& config_;
  const FramePools& pools_;
  const LinkMonitor::Report& report_;
};

}  // namespace tributary::dataplane
