#include "completion/model/model.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tributary::completion {

using wire::Reason;

Model::Model(const config::OptimizerConfig& optimizer, std::uint32_t chunk_bytes)
    : optimizer_(optimizer),
      words_per_chunk_(chunk_bytes / static_cast<std::uint32_t>(sizeof(float))),
      plane_count_(config::planes_of(optimizer)),
      elements_(config::elements_of(optimizer)),
      values_(2 * plane_count_ * elements_),
      snapshot_(optimizer.checkpoint.directory.empty() ? 0 : plane_count_ * elements_) {
  if (words_per_chunk_ == 0)
    throw std::invalid_argument("model: chunks without room for a parameter");
  std::uint64_t at = 0;
  for (const std::uint32_t array : optimizer_.parameters) {
    first_block_.push_back(blocks_.size());
    for (std::uint32_t done = 0; done < array;) {
      Block block;
      block.at = at;
      block.count = std::min(array - done, words_per_chunk_);
      blocks_.push_back(block);
      done += block.count;
      at += block.count;
    }
  }
  first_block_.push_back(blocks_.size());
  without_values_ = blocks_.size();
}

void Model::begin(std::uint64_t root, std::uint16_t epoch) {
  if (began(root, epoch)) return;
  root_ = root;
  epoch_ = epoch;
  missed_beginning_ = false;
  knows_run_ = false;
  told_words_ = 0;
}

// Chunks of it come in any order; with the last of them the run is known.
Reason Model::hear_of_run(const aggregator::ChunkDescription& chunk,
                          std::span<const std::byte> said) {
  constexpr std::uint32_t kAll = (1u << wire::kModelRunWords) - 1;
  const std::uint64_t first = std::uint64_t{chunk.chunk} * words_per_chunk_;
  const std::uint64_t end = first + chunk.element_count;
  if (end > wire::kModelRunWords || chunk.last != (end == wire::kModelRunWords))
    return refuse(Reason::model_mismatch);
  std::memcpy(told_.data() + first, said.data(), said.size());
  for (std::uint64_t word = first; word < end; ++word) told_words_ |= 1u << word;
  if (told_words_ != kAll) return Reason::none;
  const wire::ModelRun run = wire::model_run_of(told_);
  if (run.id == 0 || (knows_run_ && run.id != run_)) return refuse(Reason::model_mismatch);
  if (run.goes_on && run.id != run_) return refuse(Reason::model_lost);
  if (!knows_run_) enter_run(run.id);
  op_ = chunk.op + 1;
  number_ = run.next + 1;
  return Reason::none;
}

void Model::enter_run(std::uint64_t id) {
  knows_run_ = true;
  if (id != 0 && id == run_) return;
  run_ = id;
  op_ = 0;
  number_ = 1;
  // First values that only some blocks got must not be mixed with other ones.
  const bool unfinished = without_values_ != 0;
  for (Block& block : blocks_) {
    if (block.ahead) counters_.taken_back.add();
    block.ahead = block.opened = false;
    block.made_by = {};
    if (unfinished) block.has_values = false;
  }
  if (unfinished) without_values_ = blocks_.size();
  ahead_ = 0;
}

std::optional<std::uint64_t> Model::step() const {
  return without_values_ == 0 ? std::optional(step_) : std::nullopt;
}

Planes Model::planes(const Block& block, std::uint64_t step) {
  float* const version = values_.data() + (step & 1) * plane_count_ * elements_;
  Planes p;
  p.parameters = version + block.at;
  if (plane_count_ > 1) p.first = p.parameters + elements_;
  if (plane_count_ > 2) p.second = p.first + elements_;
  return p;
}

Model::Block* Model::find(const aggregator::ChunkDescription& chunk) {
  if (chunk.target + std::size_t{1} >= first_block_.size()) return nullptr;
  const std::size_t end = first_block_[chunk.target + std::size_t{1}];
  const std::size_t place = first_block_[chunk.target] + chunk.chunk;
  if (place >= end || chunk.last != (place + 1 == end)) return nullptr;
  return blocks_[place].count == chunk.element_count ? &blocks_[place] : nullptr;
}

Reason Model::refuse(Reason reason) {
  counters_.refused.add();
  return reason;
}

Reason Model::answer(const aggregator::ChunkDescription& chunk, std::span<std::byte> sum) {
  if (missed_beginning_) return refuse(Reason::model_lost);
  if (chunk.collective == wire::Collective::open && chunk.target == wire::kModelStep) {
    if (chunk.dtype != wire::DType::uint32 || sum.size() != chunk.element_count * sizeof(float))
      return refuse(Reason::model_mismatch);
    const bool asks = chunk.chunk == 0 && chunk.last && chunk.element_count == 1;
    return asks ? tell_step(sum) : hear_of_run(chunk, sum);
  }
  if (!knows_run_) enter_run(0);
  Block* const block = find(chunk);
  if (block == nullptr || chunk.dtype != wire::DType::float32)
    return refuse(Reason::model_mismatch);
  const std::uint64_t op = number_of(chunk.op);
  return chunk.collective == wire::Collective::open ? open(*block, op, sum)
                                                    : update(*block, op, sum);
}

// The next step; 0: not all blocks have first values.
Reason Model::tell_step(std::span<std::byte> sum) {
  if (!knows_run_) enter_run(0);
  const std::uint32_t next = without_values_ == 0 ? static_cast<std::uint32_t>(step_ + 1) : 0;
  std::memcpy(sum.data(), &next, sizeof next);
  return Reason::none;
}

std::uint64_t Model::number_of(std::uint32_t op) {
  const std::int64_t later = static_cast<std::int32_t>(op - op_);
  const auto number = static_cast<std::uint64_t>(static_cast<std::int64_t>(number_) + later);
  if (later > 0) {
    op_ = op;
    number_ = number;
  }
  return number;
}

void Model::read(const Block& block, std::uint64_t step, std::span<std::byte> out) {
  std::memcpy(out.data(), planes(block, step).parameters, out.size());
}

// The sender brings first values; the answer is the block's current values. Where the op is sent
// again and later ones have updated the block, it is the values before those.
Reason Model::open(Block& block, std::uint64_t op, std::span<std::byte> sum) {
  const std::uint64_t step = step_of(block);
  if (!block.has_values) {
    const Planes p = planes(block, 0);
    std::memcpy(p.parameters, sum.data(), sum.size());
    if (p.first != nullptr) std::fill_n(p.first, block.count, 0.0f);
    if (p.second != nullptr) std::fill_n(p.second, block.count, 0.0f);
    block.has_values = true;
    --without_values_;
  } else if (block.made_by[step & 1] <= op) {
    read(block, step, sum);
  } else if (block.made_by[~step & 1] <= op) {
    read(block, step - 1, sum);
  } else {
    return refuse(Reason::model_mismatch);
  }
  block.opened = true;
  return Reason::none;
}

Reason Model::update(Block& block, std::uint64_t op, std::span<std::byte> sum) {
  if (!block.opened || without_values_ != 0) return refuse(Reason::model_lost);
  const std::uint64_t step = step_of(block);
  const bool was_last = block.made_by[step & 1] == op;
  if (was_last || block.made_by[~step & 1] == op) {
    counters_.repeated.add();
    read(block, was_last ? step : step - 1, sum);
    return Reason::none;
  }
  // Ahead already: the sender has not seen the parameters that it should have worked with.
  if (block.ahead || op < block.made_by[step & 1]) return refuse(Reason::model_mismatch);
  // The version that is written may be what a snapshot is waiting to copy.
  if (copying_ && !block.copied && snapshot_step_ < step_) copy(block);
  const std::span gradient(reinterpret_cast<const float*>(sum.data()), block.count);
  completion::step(optimizer_, step_, gradient, planes(block, step_), planes(block, step_ + 1));
  block.made_by[(step_ + 1) & 1] = op;
  block.ahead = true;
  ++ahead_;
  counters_.updates.add();
  counters_.updated_values.add(block.count);
  read(block, step_ + 1, sum);
  if (ahead_ == blocks_.size()) reach_next_step();
  return Reason::none;
}

void Model::reach_next_step() {
  for (Block& block : blocks_) block.ahead = false;
  ahead_ = 0;
  ++step_;
  counters_.step.set(step_);
  if (step_ % optimizer_.checkpoint.every == 0) begin_snapshot();
}

std::uint64_t Model::memory_bytes() const {
  return (values_.size() + snapshot_.size()) * sizeof(float) + blocks_.size() * sizeof(Block) +
         first_block_.size() * sizeof(std::size_t);
}

void Model::begin_snapshot() {
  if (copying_ || snapshot_.empty() || without_values_ != 0) return;
  copying_ = true;
  snapshot_step_ = step_;
  uncopied_ = blocks_.size();
  copy_from_ = 0;
  for (Block& block : blocks_) block.copied = false;
}

void Model::copy(Block& block) {
  const Planes p = planes(block, snapshot_step_);
  for (std::size_t plane = 0; plane < plane_count_; ++plane)
    std::copy_n(p.parameters + plane * elements_, block.count,
                snapshot_.data() + plane * elements_ + block.at);
  block.copied = true;
  --uncopied_;
}

void Model::copy_some(std::size_t most_bytes) {
  std::size_t bytes = 0;
  for (; copying_ && copy_from_ < blocks_.size() && bytes < most_bytes; ++copy_from_) {
    Block& block = blocks_[copy_from_];
    if (block.copied) continue;
    copy(block);
    bytes += block.count * plane_count_ * sizeof(float);
  }
}

void Model::restore(std::uint64_t step, std::span<const std::byte> snapshot) {
  const std::size_t values = plane_count_ * elements_;
  if (snapshot.size() != values * sizeof(float))
    throw std::invalid_argument("model: a snapshot of another size");
  std::memcpy(values_.data() + (step & 1) * values, snapshot.data(), snapshot.size());
  for (Block& block : blocks_) block.has_values = true;
  without_values_ = 0;
  step_ = step;
  counters_.step.set(step);
}

}  // namespace tributary::completion
