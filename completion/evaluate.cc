#include "completion/evaluate.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tributary::completion {
namespace {

using aggregator::Kernels;

// Where some are wide: one piece after the other.
bool combine(std::span<Piece* const> pieces, const Kernels& kernels, std::byte* accumulator,
             std::size_t n) {
  bool overflow = false;
  bool first = true;
  for (const Piece* piece : pieces) {
    const std::byte* payload = piece->buffer.data();
    if (first && piece->wide)
      std::memcpy(accumulator, payload, n * kernels.acc_bytes);
    else if (first)
      kernels.open(accumulator, payload, n);
    else if (piece->wide)
      overflow |= kernels.merge(accumulator, payload, n);
    else
      overflow |= kernels.fold(accumulator, payload, n);
    first = false;
  }
  return overflow;
}

}  // namespace

const Kernels* kernels_of(const aggregator::ChunkDescription& d, wire::Arithmetic arithmetic) {
  if (d.dtype == wire::DType::none) return nullptr;
  return aggregator::find_kernels(d.dtype, d.reduce_op,
                                  arithmetic == wire::Arithmetic::modular
                                      ? aggregator::Arithmetic::modular
                                      : aggregator::Arithmetic::saturating);
}

Evaluation evaluate(Job& job, Chunk& chunk, const Kernels* kernels) {
  // Counting sort by lowest rank: pieces are disjoint, so no two have the same.
  std::fill(job.by_rank.begin(), job.by_rank.end(), nullptr);
  bool overflow = false;
  bool one_pass = true;
  for (Piece* piece = chunk.pieces; piece != nullptr; piece = piece->next) {
    job.by_rank[piece->first] = piece;
    overflow |= piece->overflow;
    one_pass &= !piece->wide;
  }
  const auto end = std::remove(job.by_rank.begin(), job.by_rank.end(), nullptr);
  const std::span<Piece* const> pieces(job.by_rank.begin(), end);
  assert(!pieces.empty());
  Piece& result = *pieces.front();
  if (kernels == nullptr) return {&result, overflow};

  const std::size_t n = chunk.description.element_count;
  std::byte* accumulator = job.accumulator.data();
  if (one_pass) {
    for (std::size_t i = 0; i < pieces.size(); ++i) job.sources[i] = pieces[i]->buffer.data();
    overflow |= kernels->fuse(accumulator, job.sources.data(), pieces.size(), n);
  } else {
    overflow |= combine(pieces, *kernels, accumulator, n);
  }
  const std::uint32_t divisor = required_ranks(chunk, job.limits.workers);
  overflow |= kernels->finish(result.buffer.data(), accumulator, n, divisor);
  result.payload_bytes = static_cast<std::uint32_t>(n * kernels->wire_bytes);
  result.wide = false;
  return {&result, overflow};
}

}  // namespace tributary::completion
