#include "completion/pieces/piece_pool.h"

namespace tributary::completion {

PiecePool::PiecePool(std::size_t pieces, std::size_t buffer_bytes, std::size_t rank_words)
    : buffers_(pieces * buffer_bytes), ranks_(pieces * rank_words), pieces_(pieces) {
  for (std::size_t i = pieces; i-- > 0;) {
    Piece& piece = pieces_[i];
    piece.buffer = std::span(buffers_).subspan(i * buffer_bytes, buffer_bytes);
    piece.ranks = std::span(ranks_).subspan(i * rank_words, rank_words);
    piece.next = free_;
    free_ = &piece;
  }
}

Piece* PiecePool::take() {
  Piece* piece = free_;
  if (piece == nullptr) return nullptr;
  free_ = piece->next;
  ++taken_;
  piece->next = nullptr;
  piece->count = piece->first = piece->payload_bytes = 0;
  piece->wide = piece->overflow = false;
  clear(piece->ranks);
  return piece;
}

void PiecePool::give_back(Piece* piece) {
  piece->next = free_;
  free_ = piece;
  --taken_;
}

std::uint64_t PiecePool::memory_bytes() const {
  return buffers_.size() + ranks_.size() * sizeof(std::uint64_t) + pieces_.size() * sizeof(Piece);
}

}  // namespace tributary::completion
