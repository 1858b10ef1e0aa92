// The model of a job at its parameter server (T21): parameters in arrays, cut into blocks like a
// worker's update into chunks, and the optimizer's averages.
//
//   nothing ──open: first values──▶ step 0 ──update of every block──▶ step 1 ──…
//                                     ▲  └── run ends half way: what is ahead goes back ──┘
//
// Every block has two versions, at step s and at s + 1 or s - 1; an update reads one and writes the
// other. So the model as a whole can always go back to the last step that all blocks have reached,
// and the next run begins there.
//
// Exactly once: a block takes the update of an op only in a run in which it was opened, once all
// blocks have reached its step, and only of a later op than its last one. The ops that made its two
// versions are answered again with the same parameters. Anything else is refused, and ends its
// epoch: its sender assumes another state of the model. So is every op of an epoch in which another
// incarnation has answered: blocks opened before and after would be of two models.
//
// A run is one or more epochs (core/wire/model_run.h). Ops are numbered over all of them: what
// ranks send again after a loss has the number that it had.
//
// Snapshots are of whole steps: blocks are copied bit by bit, at the latest before their version is
// overwritten. Pure; one thread; any thread reads counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "aggregator/chunk/contribution.h"
#include "completion/model/optimizer.h"
#include "core/counter.h"
#include "core/wire/model_run.h"

namespace tributary::completion {

struct ModelCounters {
  Counter step;            // gauge: the step that all blocks have reached
  Counter updates;         // blocks stepped
  Counter updated_values;  // parameters in those
  Counter repeated;        // repeated requests, answered with the stored values
  Counter taken_back;      // blocks that went back a step when an epoch ended half way
  Counter refused;         // opens or updates that assume another state of the model
};

class Model {
 public:
  // Blocks have `chunk_bytes` of parameters, but the last of an array may have fewer.
  Model(const config::OptimizerConfig& optimizer, std::uint32_t chunk_bytes);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // An epoch of the incarnation `root` of the root switch begins. Does nothing if the epoch has
  // begun already. Its first op says which run it belongs to; if to another one than the epoch
  // before, steps that were half done are undone.
  void begin(std::uint64_t root, std::uint16_t epoch);
  // Another host answered the beginning of this epoch: nothing in it is answered here.
  void miss_beginning() { missed_beginning_ = true; }
  [[nodiscard]] bool began(std::uint64_t root, std::uint16_t epoch) const {
    return root == root_ && epoch == epoch_;
  }
  // True if the epoch is over: epochs of one incarnation only grow.
  [[nodiscard]] bool is_over(std::uint64_t root, std::uint16_t epoch) const {
    return root == root_ && static_cast<std::int16_t>(epoch - epoch_) < 0;
  }

  // Replaces the sum of a chunk of an op on the model by the answer. Returns none, or the reason
  // why the epoch must end.
  wire::Reason answer(const aggregator::ChunkDescription& chunk, std::span<std::byte> sum);

  // The step that all blocks have reached; nullopt if some have no first values yet.
  [[nodiscard]] std::optional<std::uint64_t> step() const;
  [[nodiscard]] const ModelCounters& counters() const { return counters_; }
  [[nodiscard]] const config::OptimizerConfig& optimizer() const { return optimizer_; }
  [[nodiscard]] std::size_t block_count() const { return blocks_.size(); }
  [[nodiscard]] std::uint64_t memory_bytes() const;

  // ---- snapshots, if the optimizer keeps checkpoints

  // Begins a snapshot of the last step that all blocks have reached, unless one is under way.
  void begin_snapshot();
  // Continues copying, by at most so many bytes (and a block).
  void copy_some(std::size_t most_bytes);
  // True if the snapshot is complete; it stays unchanged until let_go_of_snapshot().
  [[nodiscard]] bool snapshot_ready() const { return copying_ && uncopied_ == 0; }
  [[nodiscard]] std::uint64_t snapshot_step() const { return snapshot_step_; }
  // Plane by plane, parameters first, each with all elements in the order of the arrays.
  [[nodiscard]] std::span<const std::byte> snapshot() const {
    return std::as_bytes(std::span(snapshot_));
  }
  void let_go_of_snapshot() { copying_ = false; }
  // Restores the model from a snapshot: same planes and elements, before the first begin().
  void restore(std::uint64_t step, std::span<const std::byte> snapshot);

 private:
  struct Block {
    std::uint64_t at = 0;     // place of its first element in a plane
    std::uint32_t count = 0;  // elements
    // By version: the op of this run that made it; 0: it is from before.
    std::array<std::uint64_t, 2> made_by{};
    bool has_values = false;
    bool opened = false;  // in this run
    bool ahead = false;   // one step beyond the step that all blocks have reached
    bool copied = false;  // is in the snapshot
  };

  Block* find(const aggregator::ChunkDescription& chunk);
  wire::Reason tell_step(std::span<std::byte> sum);
  wire::Reason hear_of_run(const aggregator::ChunkDescription& chunk,
                           std::span<const std::byte> said);
  void enter_run(std::uint64_t id);
  // The number in the run of an op of this epoch; 1 and up.
  std::uint64_t number_of(std::uint32_t op);
  wire::Reason open(Block& block, std::uint64_t op, std::span<std::byte> sum);
  wire::Reason update(Block& block, std::uint64_t op, std::span<std::byte> sum);
  wire::Reason refuse(wire::Reason reason);
  void read(const Block& block, std::uint64_t step, std::span<std::byte> out);
  void reach_next_step();
  void copy(Block& block);
  // The block's planes in the version of a step.
  [[nodiscard]] Planes planes(const Block& block, std::uint64_t step);
  [[nodiscard]] std::uint64_t step_of(const Block& block) const {
    return step_ + (block.ahead ? 1 : 0);
  }

  const config::OptimizerConfig optimizer_;
  const std::uint32_t words_per_chunk_;
  const std::size_t plane_count_;
  const std::uint64_t elements_;
  std::vector<Block> blocks_;
  std::vector<std::size_t> first_block_;  // by array
  std::vector<float> values_;             // version by version, plane by plane
  std::vector<float> snapshot_;

  std::uint64_t root_ = 0;
  std::uint16_t epoch_ = 0;
  bool missed_beginning_ = false;
  std::uint64_t run_ = 0;   // 0: of ranks that name none
  bool knows_run_ = false;  // of this epoch
  wire::ModelRunWords told_{};
  std::uint32_t told_words_ = 0;  // bits: in this epoch
  std::uint32_t op_ = 0;          // an op of this epoch, and
  std::uint64_t number_ = 1;      // its number in the run
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
