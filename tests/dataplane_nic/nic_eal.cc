#include "tests/dataplane_nic/nic_eal.h"

#include "dataplane/port/eal.h"

namespace tributary::dataplane {

void start_nic_eal() {
  static const Eal eal([] {
    config::SwitchConfig config;
    config.memory.megabytes = 96;
    config.lcores = {-1, -1};
    config.ports = {{"none", "net_null0", 1500}};
    return eal_arguments(config, current_environment());
  }());
}

config::SwitchConfig nic_config(const std::vector<std::string>& devices) {
  config::SwitchConfig config;
  config.ipv4 = 0x0A4D00FE;
  config.memory.megabytes = 48;
  config.lcores = {-1, -1};
  for (const std::string& device : devices) {
    config.ports.push_back({"p" + std::to_string(config.ports.size()), device, 1500});
    config.ports.back().queues = 2;
    config.ports.back().lcores = {0, 1};
  }
  return config;
}

LonePort::LonePort(const config::PortConfig& of) {
  start_nic_eal();
  config = nic_config({of.devargs});
  config.ports = {of};
  pools = std::make_unique<FramePools>(config, config::Machine{}, [](const std::string&) {});
  port = std::make_unique<Port>(of);
}

}  // namespace tributary::dataplane
