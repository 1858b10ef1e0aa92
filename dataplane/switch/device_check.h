// Checks the devices of another configuration against what a running switch has, before any is
// opened. Both checks throw std::invalid_argument that names the port.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "config/change/change.h"
#include "dataplane/port/port.h"

namespace tributary::dataplane {

class DeviceCheck {
 public:
  // `ports`: those that the switch has, by places. `data_bytes`: of its packet buffers. `has_pci`:
  // DPDK was started with network cards.
  DeviceCheck(const std::vector<std::unique_ptr<Port>>& ports, std::size_t data_bytes, bool has_pci)
      : ports_(ports), data_bytes_(data_bytes), has_pci_(has_pci) {}

  // Checks the device of each port that comes, or gets another device or MTU.
  void check(const config::SwitchConfig& next, const config::PortChange& change) const;

 private:
  // `again`: the place of the port, which has its device until then. The old device is closed after
  // the new one is opened, so the two must not be the same; but for that of a port that is opened
  // again, which is at that place.
  void check(const config::PortConfig& port, std::optional<std::size_t> again = {}) const;

  const std::vector<std::unique_ptr<Port>>& ports_;
  const std::size_t data_bytes_;
  const bool has_pci_;
};

}  // namespace tributary::dataplane
