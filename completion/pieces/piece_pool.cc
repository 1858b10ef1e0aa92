#include "completion/pieces/piece_pool.h"

#include "core/invariant.h"

namespace tributary::completion {

PiecePool::PiecePool(std::size_t pieces, std::size_t buffer_bytes, std::size_t rank_words)
    : buffers_(pieces * buffer_bytes), ranks_(pieces * rank_words), pieces_(pieces) {
  for (std::size_t i = pieces; i-- > 0;) {
    Piece& piece = pieces_[i];
    piece.buffer = std::span(buffers_).subspan(i * buffer_bytes, buffer_bytes);
    piece.ranks = std::span(ranks_).subspan(i * rank_words, rank_words);
  }
  reset();
}

void PiecePool::reset() {
  free_ = nullptr;
  taken_ = 0;
  for (std::size_t i = pieces_.size(); i-- > 0;) {
    pieces_[i].taken = false;
    pieces_[i].next = free_;
    free_ = &pieces_[i];
  }
}

Piece* PiecePool::take() {
  Piece* piece = free_;
  if (piece == nullptr) return nullptr;
  free_ = piece->next;
  ++taken_;
  piece->taken = true;
  piece->next = nullptr;
  piece->count = piece->first = piece->payload_bytes = 0;
  piece->wide = piece->overflow = false;
  clear(piece->ranks);
  return piece;
}

bool PiecePool::give_back(Piece* piece) {
  if (!TRIBUTARY_INVARIANT_HOLDS(piece->taken)) return false;
  piece->taken = false;
  piece->next = free_;
  free_ = piece;
  --taken_;
  return true;
}

std::uint64_t PiecePool::memory_bytes() const {
  return buffers_.size() + ranks_.size() * sizeof(std::uint64_t) + pieces_.size() * sizeof(Piece);
}

}  // namespace tributary::completion
