// Slots of a pool that jobs share (O7). A slot changes hands within one packet, so the slots held
// before a packet are compared with those held after it.
//
// No chunk loses its slot to a lower priority, nor one that is not idle, except to a higher
// priority that may take such; none gets a slot again after a loss; and a job is refused a slot
// only when it holds its guarantee.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "aggregator/chunk/verdict.h"
#include "sim/rules/checked_run.h"

namespace tributary::sim {

class SlotChecker {
 public:
  explicit SlotChecker(CheckedRun& run);

  // The two calls around a packet at a switch's engine.
  void before_packet(const SwitchNode& node, const wire::Packet& packet);
  void after_packet(const SwitchNode& node, const wire::Packet& packet,
                    aggregator::Decision decision);

  // Whether a chunk of the op has lost its slot to another job.
  [[nodiscard]] bool lost_slot(const OpKey& op) const { return robbed_ops_.contains(op); }

  // How the taker's chunk may take the owner's slot, by the table of
  // docs/decisions/020-who-may-lose-a-slot.md; nullopt: it may not. `borrowed`: before the packet
  // the owner held more than its guarantee, and the taker less.
  [[nodiscard]] std::optional<TakenSlot> may_take(const JobScenario& taker,
                                                  const JobScenario& owner, Duration silent_for,
                                                  bool borrowed) const;
  // An equal share of the pool among the jobs that run, up to the job's quota.
  [[nodiscard]] std::uint32_t guaranteed_slots(const JobScenario& job, std::uint32_t running) const;

 private:
  // Counters of the shard that a packet is for.
  struct Slots {
    std::uint64_t open = 0;
    std::uint64_t refused = 0;
  };
  // Chunks that met another in its slot, and how often that one lost it.
  struct Met {
    std::uint64_t preempted = 0;
    std::uint64_t collided = 0;
  };
  // One of the slots of a shard that dynamic jobs share, and the chunk that holds it.
  struct HeldSlot {
    std::uint32_t job, seq, slot, op;
    bool sent;  // its sum; it waits for the result
  };
  // A chunk as a switch has it.
  struct ChunkAt {
    NodeId node;
    ChunkKey chunk;
    auto operator<=>(const ChunkAt&) const = default;
  };

  [[nodiscard]] std::optional<Slots> slots_of(const SwitchNode& node,
                                              const wire::Packet& packet) const;
  void check_refusal(const SwitchNode& node, const wire::Packet& packet);
  [[nodiscard]] static ChunkAt chunk_at(const SwitchNode& node, std::uint32_t job,
                                        std::uint8_t shard, std::uint32_t seq);
  [[nodiscard]] std::vector<HeldSlot> held_in(const SwitchNode& node, std::uint8_t shard);
  [[nodiscard]] static Met met_at(const SwitchNode& node, std::uint8_t shard);
  void check_taken(const SwitchNode& node, const wire::Packet& packet,
                   aggregator::Decision decision);
  void check_taking(const SwitchNode& node, const wire::Packet& packet, const HeldSlot& lost);
  [[nodiscard]] bool is_borrowed(const SwitchNode& node, std::uint8_t shard,
                                 const JobScenario& taker, const JobScenario& owner) const;

  CheckedRun& run_;
  std::uint32_t dynamic_jobs_ = 0;
  std::optional<Slots> slots_before_;
  std::vector<HeldSlot> held_before_;
  Met met_before_;
  std::map<ChunkAt, Instant> heard_;  // when data of a chunk was last taken in, by the node's clock
  std::set<ChunkAt> lost_slot_;       // to another job's chunk
  std::set<OpKey> robbed_ops_;        // with such a chunk
};

}  // namespace tributary::sim
