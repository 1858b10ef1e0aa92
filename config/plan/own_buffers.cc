#include "config/plan/own_buffers.h"

#include "config/model/devargs.h"
#include "config/plan/lcore_plan.h"
#include "config/plan/memory_plan.h"

namespace tributary::config {

std::size_t own_buffers(const SwitchConfig& config, const PortConfig& port) {
  const std::size_t fill = parse_devargs(port.devargs).kind->fill_buffers;
  if (fill == 0) return 0;
  return port.queues * (fill + least_buffers_per_queue(config)) +
         lcore_count(config) * kSharedBuffers;
}

std::size_t own_buffers(const SwitchConfig& config) {
  std::size_t all = 0;
  for (const PortConfig& port : config.ports) all += own_buffers(config, port);
  return all;
}

}  // namespace tributary::config
