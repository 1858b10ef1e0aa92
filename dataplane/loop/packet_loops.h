// The packet loops of a switch, by lcore, and the ways between them.
//
// Each lcore counts for itself; what concerns the whole switch is added up here, by readers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/loop/packet_loop.h"
#include "dataplane/port/frame_pools.h"

namespace tributary::dataplane {

// A job where it is, or a plane of it: the engine of its lcore, and its index there. The plane is
// in config().
struct LoopJob {
  std::size_t lcore = 0;
  std::size_t index = 0;
  PacketLoop* packet_loop = nullptr;

  [[nodiscard]] const aggregator::Engine& engine() const { return packet_loop->engine(); }
  [[nodiscard]] const config::JobConfig& config() const { return engine().job_config(index); }
};

class PacketLoops {
 public:
  // Each has a pool and memory of its own socket, by the pools' plan.
  PacketLoops(const config::SwitchConfig& config, std::span<Port* const> ports,
              const FramePools& pools, const Randomness& randomness);

  [[nodiscard]] std::size_t size() const { return packet_loops_.size(); }
  [[nodiscard]] PacketLoop& operator[](std::size_t lcore) const { return *packet_loops_[lcore]; }
  [[nodiscard]] auto begin() const { return packet_loops_.begin(); }
  [[nodiscard]] auto end() const { return packet_loops_.end(); }

  // nullptr: there is one lcore.
  [[nodiscard]] const Handover* handover() const { return handover_.get(); }
  // nullptr, too, where snooping is off.
  [[nodiscard]] const GroupRings* group_rings() const { return group_rings_.get(); }
  [[nodiscard]] aggregator::OpenDesk& open_desk() const { return *open_desk_; }

  // Any thread.
  [[nodiscard]] PortCounters port_counters(std::size_t port) const;
  // While the configuration is held: some loop is late, so a sum over all cannot be made.
  [[nodiscard]] bool any_late() const;
  // While the configuration is held: jobs of loops that are not late, in the order of `config`,
  // which is the one that runs.
  [[nodiscard]] std::vector<LoopJob> jobs(const config::SwitchConfig& config) const;
  // The loops that own a job's planes, in the order of planes. For an unknown job, the
  // first loop.
  [[nodiscard]] std::vector<PacketLoop*> owners_of(const config::SwitchConfig& config,
                                                   std::uint32_t job) const;

 private:
  std::unique_ptr<Handover> handover_;
  std::unique_ptr<GroupRings> group_rings_;
  std::unique_ptr<aggregator::OpenDesk> open_desk_ = std::make_unique<aggregator::OpenDesk>();
  std::vector<std::unique_ptr<PacketLoop>> packet_loops_;
};

}  // namespace tributary::dataplane
