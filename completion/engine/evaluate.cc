#include "completion/engine/evaluate.h"

#include <algorithm>
#include <cstring>

namespace tributary::completion {
namespace {

using aggregator::Kernels;

// Combines a fast job's pieces in the order of their lowest ranks: any order is valid, this one
// does not depend on arrival. Contributions alone are combined in one pass.
bool combine(Job& job, const Kernels& kernels, std::size_t n) {
  std::byte* const acc = job.accumulators.front();
  const auto end = std::remove(job.at.begin(), job.at.end(), nullptr);
  const std::span<Piece* const> pieces(job.at.begin(), end);
  std::size_t k = 0;
  for (; k < pieces.size() && !pieces[k]->wide; ++k) job.sources[k] = pieces[k]->buffer.data();
  bool overflow = k != 0 && kernels.fuse(acc, job.sources.data(), k, n);
  if (k == 0) std::memcpy(acc, pieces[k++]->buffer.data(), n * kernels.acc_bytes);
  for (; k < pieces.size(); ++k) {
    const std::byte* payload = pieces[k]->buffer.data();
    overflow |= pieces[k]->wide ? kernels.merge(acc, payload, n) : kernels.fold(acc, payload, n);
  }
  return overflow;
}

}  // namespace

Evaluation evaluate(Job& job, Chunk& chunk, const Kernels* kernels) {
  Piece& result = *chunk.pieces;
  bool overflow = false;
  std::fill(job.at.begin(), job.at.end(), nullptr);
  for (Piece* piece = chunk.pieces; piece != nullptr; piece = piece->next) {
    job.at[piece->first] = piece;  // pieces are disjoint, so each has a place of its own
    overflow |= piece->overflow;
  }
  if (kernels == nullptr) return {&result, overflow};

  const std::size_t n = chunk.description.element_count;
  const std::uint32_t contributions = chunk.covered_count;
  const bool declared =
      job.limits.order == wire::Order::reproducible && contributions == job.workers();
  overflow |= declared ? job.order.evaluate(*kernels, job.at, job.sources, n, job.accumulators)
                       : combine(job, *kernels, n);
  overflow |= kernels->finish(result.buffer.data(), job.accumulators.front(), n, contributions);
  result.payload_bytes = static_cast<std::uint32_t>(n * kernels->wire_bytes);
  result.wide = false;
  return {&result, overflow};
}

void combine_newest(Job& job, Chunk& chunk, const Kernels& kernels) {
  const Piece& newest = *chunk.pieces;
  if (newest.next == nullptr) return;
  Piece& sum = *newest.next;
  const std::size_t n = chunk.description.element_count;
  const std::size_t bytes = n * kernels.acc_bytes;
  if (bytes > sum.buffer.size()) return;  // narrow partials: accumulators are wider than chunks
  std::byte* const acc = sum.buffer.data();
  if (!sum.wide) {
    kernels.open(job.accumulators.front(), acc, n);
    std::memcpy(acc, job.accumulators.front(), bytes);
    sum.payload_bytes = static_cast<std::uint32_t>(bytes);
    sum.wide = true;
  }
  const std::byte* const payload = newest.buffer.data();
  sum.overflow |= newest.wide ? kernels.merge(acc, payload, n) : kernels.fold(acc, payload, n);
  sum.overflow |= newest.overflow;
  job.absorb_newest(chunk);
}

}  // namespace tributary::completion
