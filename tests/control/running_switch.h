// A real switch in the test's process, its loop on its own lcore, over two silent null devices.
// One per process at a time; DPDK starts with the first.
#pragma once

#include <string>

#include "dataplane/switch/switch.h"

namespace tributary::control {

config::SwitchConfig null_config();

class RunningSwitch {
 public:
  explicit RunningSwitch(const config::SwitchConfig& config = null_config());
  dataplane::Switch& get() { return switch_; }

 private:
  dataplane::Switch switch_;
};

}  // namespace tributary::control
