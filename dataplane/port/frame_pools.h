// The pools of packet buffers of a switch: one on each socket that is in use, as
// config/plan/numa_plan.h works out, with what is really there put in its place.
//
//   plan ─▶ make each pool ──────────────────────────────────────▶ running
//     ▲        └─ too little memory ─▶ half of it ... what it needs
//     └─ that socket has none ◀─────────────────────────┘
//
// Made when DPDK and the machine are known, destroyed after the ports. The plan changes with the
// configuration, by the thread that holds that; counts may be read by any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/plan/numa_plan.h"
#include "dataplane/frame/frame_pool.h"

namespace tributary::dataplane {

class FramePools {
 public:
  using Report = std::function<void(const std::string& line)>;

  // `report` gets a line for each thing that is not as one would wish. Throws std::runtime_error
  // when there is no memory for what the ports need, on whatever socket.
  FramePools(const config::SwitchConfig& config, config::Machine machine, const Report& report);

  // Ports come and go; those at `opened` are still without queues. See config::numa_change().
  [[nodiscard]] config::NumaPlan change(const config::SwitchConfig& next,
                                        const config::Machine& machine,
                                        const std::vector<std::uint16_t>& opened) const {
    return config::numa_change(plan_, next, machine, opened);
  }
  void apply(config::NumaPlan plan) { plan_ = std::move(plan); }
  [[nodiscard]] const config::NumaPlan& plan() const { return plan_; }

  // Pool for packets that a loop makes itself.
  [[nodiscard]] rte_mempool* of_lcore(std::size_t lcore) const {
    return pools_[plan_.of_lcore[lcore]]->get();
  }
  // Pool of each queue of the port at this place, by a plan for these pools.
  [[nodiscard]] std::vector<rte_mempool*> of_port(std::size_t place,
                                                  const config::NumaPlan& plan) const;

  [[nodiscard]] std::size_t size() const { return pools_.size(); }
  [[nodiscard]] const FramePool& operator[](std::size_t i) const { return *pools_[i]; }
  [[nodiscard]] auto begin() const { return pools_.begin(); }
  [[nodiscard]] auto end() const { return pools_.end(); }
  // Buffers of all pools, and the data bytes of each buffer.
  [[nodiscard]] std::size_t buffers() const;
  [[nodiscard]] std::size_t data_bytes() const { return pools_[0]->data_bytes(); }
  // A text for logs.
  [[nodiscard]] std::string describe() const;

 private:
  bool make(config::PlannedPool& planned, const Report& report);

  std::uint16_t data_room_;
  config::NumaPlan plan_;
  std::vector<std::unique_ptr<FramePool>> pools_;
};

}  // namespace tributary::dataplane
