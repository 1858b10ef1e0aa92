#include "completion/pieces/cover.h"

namespace tributary::completion {

Fit fit(const Chunk& chunk, ConstRankSet ranks, RankSet lost) {
  clear(lost);
  const std::uint32_t common = count_common(chunk.covered, ranks);
  if (common == 0) return Fit::disjoint;
  const std::uint32_t gained = count(ranks) - common;
  if (gained == 0) return Fit::duplicate;

  for (const Piece* piece = chunk.pieces; piece != nullptr; piece = piece->next)
    if (overlap(piece->ranks, ranks)) unite(lost, piece->ranks);
  subtract(lost, ranks);
  if (count(lost) < gained) return Fit::replaces;
  clear(lost);
  unite(lost, ranks);
  subtract(lost, chunk.covered);
  return Fit::dropped;
}

}  // namespace tributary::completion
