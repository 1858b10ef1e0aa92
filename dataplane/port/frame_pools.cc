#include "dataplane/port/frame_pools.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace tributary::dataplane {

FramePools::FramePools(const config::SwitchConfig& config, config::Machine machine,
                       const Report& report)
    : data_room_(dataplane::data_room(config)) {
  bool whole = false;
  while (!whole) {  // each time with a socket less
    plan_ = config::numa_plan(config, machine, buffer_bytes(data_room_));
    pools_.clear();
    whole = std::all_of(plan_.pools.begin(), plan_.pools.end(), [&](config::PlannedPool& planned) {
      if (make(planned, report)) return true;
      machine.lacking.push_back(planned.socket);
      return false;
    });
  }
  for (const std::string& note : plan_.notes) report(note);
}

// False: not even the least that it needs is there. With nowhere else to go, that is thrown.
bool FramePools::make(config::PlannedPool& planned, const Report& report) {
  const auto wanted = static_cast<std::uint32_t>(planned.buffers);
  const auto least = static_cast<std::uint32_t>(planned.least);
  for (std::uint32_t count = wanted;; count = std::max(count / 2, least)) try {
      pools_.push_back(std::make_unique<FramePool>(PoolSize{count, data_room_}, planned.socket));
      if (count != wanted)
        report("packet buffers on socket " + config::socket_name(planned.socket) + ": wanted " +
               std::to_string(wanted) + " and got " + std::to_string(count) + ", memory is short");
      planned.buffers = count;
      return true;
    } catch (const std::runtime_error& error) {
      if (count > least) continue;
      if (planned.socket == config::kAnySocket) throw;
      report(std::string(error.what()) + "; wanted " + std::to_string(wanted) + ", needs " +
             std::to_string(least) + ", got none: other pools stand in");
      return false;
    }
}

std::vector<rte_mempool*> FramePools::of_port(std::size_t place,
                                              const config::NumaPlan& plan) const {
  std::vector<rte_mempool*> pools;
  for (const std::size_t pool : plan.of_queue[place]) pools.push_back(pools_[pool]->get());
  return pools;
}

std::size_t FramePools::buffers() const {
  std::size_t all = 0;
  for (const auto& pool : pools_) all += pool->buffers();
  return all;
}

std::string FramePools::describe() const {
  return config::describe_pools(plan_, buffer_bytes(data_room_));
}

}  // namespace tributary::dataplane
