#include "completion/model/model.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace tributary::completion {

using wire::Reason;

Model::Model(const config::OptimizerConfig& optimizer, std::uint32_t chunk_bytes)
    : optimizer_(optimizer),
      plane_count_(config::planes_of(optimizer)),
      elements_(config::elements_of(optimizer)),
      values_(2 * plane_count_ * elements_),
      snapshot_(optimizer.checkpoint.directory.empty() ? 0 : plane_count_ * elements_) {
  const std::uint32_t most = chunk_bytes / static_cast<std::uint32_t>(sizeof(float));
  if (most == 0) throw std::invalid_argument("model: chunks without room for a parameter");
  std::uint64_t at = 0;
  for (const std::uint32_t array : optimizer_.parameters) {
    first_block_.push_back(blocks_.size());
    for (std::uint32_t done = 0; done < array;) {
      Block block;
      block.at = at;
      block.count = std::min(array - done, most);
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
  // First values that only some blocks got may not meet other ones.
  const bool unfinished = without_values_ != 0;
  for (Block& block : blocks_) {
    if (block.ahead) counters_.taken_back.add();
    block.ahead = block.opened = block.stepped = false;
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
    // What comes after it: 0 is nothing yet.
    const std::uint32_t next = without_values_ == 0 ? static_cast<std::uint32_t>(step_ + 1) : 0;
    if (chunk.dtype != wire::DType::uint32 || sum.size() != sizeof next)
      return refuse(Reason::model_mismatch);
    std::memcpy(sum.data(), &next, sizeof next);
    return Reason::none;
  }
  Block* const block = find(chunk);
  if (block == nullptr || chunk.dtype != wire::DType::float32)
    return refuse(Reason::model_mismatch);
  return chunk.collective == wire::Collective::open ? open(*block, sum)
                                                    : update(*block, chunk.op, sum);
}

void Model::read(const Block& block, std::span<std::byte> out) {
  const Planes p = planes(block, step_of(block));
  std::memcpy(out.data(), p.parameters, out.size());
}

// Whoever opens it brings first values, and gets those that hold.
Reason Model::open(Block& block, std::span<std::byte> sum) {
  if (!block.has_values) {
    const Planes p = planes(block, 0);
    std::memcpy(p.parameters, sum.data(), sum.size());
    if (p.first != nullptr) std::fill_n(p.first, block.count, 0.0f);
    if (p.second != nullptr) std::fill_n(p.second, block.count, 0.0f);
    block.has_values = true;
    --without_values_;
  } else {
    read(block, sum);
  }
  block.opened = true;
  return Reason::none;
}

Reason Model::update(Block& block, std::uint32_t op, std::span<std::byte> sum) {
  if (!block.opened || without_values_ != 0) return refuse(Reason::model_lost);
  if (block.stepped && op == block.op) {
    counters_.repeated.add();
    read(block, sum);
    return Reason::none;
  }
  // Ahead already: its sender has not seen the parameters that it should have worked with.
  if (block.ahead || (block.stepped && static_cast<std::int32_t>(op - block.op) < 0))
    return refuse(Reason::model_mismatch);
  // The version that is written may be what a snapshot is waiting to copy.
  if (copying_ && !block.copied && snapshot_step_ < step_) copy(block);
  const std::span gradient(reinterpret_cast<const float*>(sum.data()), block.count);
  completion::step(optimizer_, step_, gradient, planes(block, step_), planes(block, step_ + 1));
  block.op = op;
  block.ahead = block.stepped = true;
  ++ahead_;
  counters_.updates.add();
  counters_.updated_values.add(block.count);
  read(block, sum);
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
