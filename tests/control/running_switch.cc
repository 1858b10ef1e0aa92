#include "tests/control/running_switch.h"

#include "dataplane/port/eal.h"

// Sanitizers ask for these suppressions of DPDK's own faults. It leaks some memory of a device that
// cannot be opened; and its alarms are handed from thread to thread, and freed there, under locks
// that ThreadSanitizer does not see. (Ours are never freed by free().)
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" const char* __lsan_default_suppressions() {
  return "leak:librte_net_virtio\nleak:rte_intr_instance_alloc\n";
}
extern "C" const char* __tsan_default_suppressions() {
  return "race:rte_eal_alarm_set\nrace:^__interceptor_free$\n";
}
// NOLINTEND(bugprone-reserved-identifier)

namespace tributary::control {
namespace {

config::SwitchConfig after_eal(config::SwitchConfig config) {
  static const dataplane::Eal eal([&] {
    auto most = config;
    most.lcores = {-1, -1, -1};
    const auto environment = dataplane::current_environment();
    return dataplane::eal_arguments(most, environment);
  }());
  return config;
}

}  // namespace

config::SwitchConfig null_config() {
  config::SwitchConfig config;
  config.name = "test";
  config.ipv4 = 0x0A4D00FE;
  config.memory.megabytes = 80;
  config.ports = {{"left", "net_null0,no-rx=1", 1500}, {"right", "net_null1,no-rx=1", 9000}};
  config::JobConfig job;
  job.id = 7;
  job.name = "train";
  job.workers = 3;
  config.jobs = {job};
  config.forwarding.static_macs = {{{2, 0, 0, 0, 0, 9}, "right"}};
  return config;
}

RunningSwitch::RunningSwitch(const config::SwitchConfig& config)
    : switch_(after_eal(config), [](const std::string&) {}) {}

}  // namespace tributary::control
