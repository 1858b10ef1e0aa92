// The model of a job at its parameter server (T21): parameters in arrays, each cut into blocks as
// workers cut its update into chunks, and the optimizer's averages.
//
//   nothing ──open: first values──▶ step 0 ──update of every block──▶ step 1 ──…
//                                     ▲  └─ epoch ends half way: what is ahead goes back ─┘
//
// Every block has two versions, at step s and at s + 1 or s - 1; an update reads one and writes the
// other. So whatever happens, the model as a whole can go back to the last step that all blocks
// have reached, and that is where the next epoch begins.
//
// Exactly once: a block takes the update of an op only in an epoch in which it was opened, once all
// blocks have reached its step, and only of a later op than its last one. The op that it has taken
// last is answered again with the same parameters. Anything else is refused, and its epoch ends:
// whoever sent it takes the model to be elsewhere than it is. So is everything in an epoch that
// another incarnation has answered in: what was opened before and after would be of two models.
//
// Snapshots are of whole steps: blocks are copied bit by bit, at the latest before their version is
// written anew. Pure; one thread; counters are read by any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/chunk/contribution.h"
#include "completion/model/optimizer.h"
#include "core/counter.h"

namespace tributary::completion {

struct ModelCounters {
  Counter step;            // gauge: all blocks have reached it
  Counter updates;         // blocks stepped
  Counter updated_values;  // parameters in those
  Counter repeated;        // asked for again, and answered with what was stored
  Counter taken_back;      // blocks that went back a step when an epoch ended half way
  Counter refused;         // opened or updated by those who take the model to be elsewhere
};

class Model {
 public:
  // Blocks have `chunk_bytes` of parameters, but for the last of each array.
  Model(const config::OptimizerConfig& optimizer, std::uint32_t chunk_bytes);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // An epoch of the incarnation `root` of the root switch begins. What began half way is taken
  // back. Nothing happens when it has begun already.
  void begin(std::uint64_t root, std::uint16_t epoch);
  // Its beginning was another one's to answer: nothing is answered in this epoch.
  void miss_beginning() { missed_beginning_ = true; }
  [[nodiscard]] bool began(std::uint64_t root, std::uint16_t epoch) const {
    return root == root_ && epoch == epoch_;
  }
  // Epochs of one incarnation only grow.
  [[nodiscard]] bool is_over(std::uint64_t root, std::uint16_t epoch) const {
    return root == root_ && static_cast<std::int16_t>(epoch - epoch_) < 0;
  }

  // Replaces the sum of a chunk, of a collective that concerns the model, by what it is answered
  // with. none: done; otherwise why the epoch has to end.
  wire::Reason answer(const aggregator::ChunkDescription& chunk, std::span<std::byte> sum);

  // The step that all blocks have reached; nullopt: not all have their first values.
  [[nodiscard]] std::optional<std::uint64_t> step() const;
  [[nodiscard]] const ModelCounters& counters() const { return counters_; }
  [[nodiscard]] const config::OptimizerConfig& optimizer() const { return optimizer_; }
  [[nodiscard]] std::size_t block_count() const { return blocks_.size(); }
  [[nodiscard]] std::uint64_t memory_bytes() const;

  // ---- snapshots, where the optimizer keeps checkpoints

  // Begins one of the last step that all blocks have reached, unless one is under way.
  void begin_snapshot();
  // Goes on with the copying, by so many bytes at most (and a block).
  void copy_some(std::size_t most_bytes);
  // Complete; it stays as it is until release().
  [[nodiscard]] bool snapshot_ready() const { return copying_ && uncopied_ == 0; }
  [[nodiscard]] std::uint64_t snapshot_step() const { return snapshot_step_; }
  // Plane by plane, parameters first, each with all elements in the order of the arrays.
  [[nodiscard]] std::span<const std::byte> snapshot() const {
    return std::as_bytes(std::span(snapshot_));
  }
  void let_go_of_snapshot() { copying_ = false; }
  // The model as a snapshot had it: same planes and elements, before the first begin().
  void restore(std::uint64_t step, std::span<const std::byte> snapshot);

 private:
  struct Block {
    std::uint64_t at = 0;     // of its first element, in a plane
    std::uint32_t count = 0;  // elements
    std::uint32_t op = 0;     // of the epoch, whose update it took last
    bool has_values = false;
    bool opened = false;   // in this epoch
    bool ahead = false;    // of the step that all blocks have reached
    bool stepped = false;  // in this epoch: `op` means something
    bool copied = false;   // is in the snapshot
  };

  Block* find(const aggregator::ChunkDescription& chunk);
  wire::Reason open(Block& block, std::span<std::byte> sum);
  wire::Reason update(Block& block, std::uint32_t op, std::span<std::byte> sum);
  wire::Reason refuse(wire::Reason reason);
  void read(const Block& block, std::span<std::byte> out);
  void reach_next_step();
  void copy(Block& block);
  // Of the block, in the version of a step.
  [[nodiscard]] Planes planes(const Block& block, std::uint64_t step);
  [[nodiscard]] std::uint64_t step_of(const Block& block) const {
    return step_ + (block.ahead ? 1 : 0);
  }

  const config::OptimizerConfig optimizer_;
  const std::size_t plane_count_;
  const std::uint64_t elements_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> first_block_;  // by array
  std::vector<float> values_;             // version by version, plane by plane
  std::vector<float> snapshot_;

  std::uint64_t root_ = 0;
  std::uint16_t epoch_ = 0;
  bool missed_beginning_ = false;
  std::uint64_t step_ = 0;
  std::size_t without_values_ = 0;  // blocks
  std::size_t ahead_ = 0;           // blocks
  bool copying_ = false;
  std::uint64_t snapshot_step_ = 0;
  std::size_t uncopied_ = 0;
  std::size_t copy_from_ = 0;
  ModelCounters counters_;
};

}  // namespace tributary::completion
