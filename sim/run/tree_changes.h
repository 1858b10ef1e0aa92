// The changes of a scenario's tree, as they happen: each switch reads the new tree at an instant of
// its own, and what moves is plugged in elsewhere at another.
//
// A worker that moves starts anew in its new place. A switch that moves goes on: its uplink is
// pulled out of one switch and put into another, and what is under way on it is lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/node/switch_node.h"
#include "sim/node/worker_node.h"
#include "sim/node/world.h"
#include "sim/scenario/fault_kind.h"
#include "sim/scenario/network_plan.h"

namespace tributary::sim {

class TreeChanges {
 public:
  // A cable between two nodes; the port at each end.
  using Connect = std::function<std::pair<std::uint16_t, std::uint16_t>(NodeId, NodeId)>;
  using Count = std::function<void(FaultKind)>;

  // `count` is told what happens.
  TreeChanges(const Scenario& scenario, const NetworkPlan& plan, World& world, Count count)
      : scenario_(scenario), plan_(plan), world_(world), count_(std::move(count)) {}

  // Plugs in the plan's further cables, and schedules all steps as script entries from number
  // `first` on. Both lists as in the plan, that of workers empty if none moves; they must stay.
  void build(std::span<SwitchNode* const> switches, std::span<WorkerNode* const> workers,
             const Connect& connect, std::uint32_t first, std::uint64_t seed);
  // Script entry first + number.
  void step(std::uint32_t number);
  // The parent of a switch, by the tree that the switch has read.
  [[nodiscard]] std::optional<std::size_t> above(std::size_t index) const;

 private:
  enum class What : std::uint8_t { switch_reads, switch_moves, worker_moves };
  struct Step {
    std::size_t version = 0;  // after so many changes
    What what = What::switch_reads;
    std::size_t index = 0;
  };

  void read(std::uint32_t number);
  void move_worker(std::size_t version, std::size_t number);
  void move_switch(std::size_t version, std::size_t index);
  // The mover's port with the cable to the switch `to`.
  [[nodiscard]] std::uint16_t port_to(bool of_switch, std::size_t mover, std::size_t to) const;

  const Scenario& scenario_;
  const NetworkPlan& plan_;
  World& world_;
  Count count_;
  std::span<SwitchNode* const> switches_;
  std::span<WorkerNode* const> workers_;
  std::uint32_t first_ = 0;
  std::vector<Step> steps_;
  std::vector<std::uint16_t> ports_;                        // of plan.cables, at the mover
  std::map<std::pair<bool, std::size_t>, std::size_t> at_;  // by mover: the version of its place
};

}  // namespace tributary::sim
