// Pieces of chunks: the contribution of one rank, or the aggregate of several, waiting to be
// combined. A fixed number, each with its payload buffer and rank set, allocated at start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "completion/pieces/rank_set.h"

namespace tributary::completion {

struct Piece {
  Piece* next = nullptr;  // next piece of its chunk, or next free one
  RankSet ranks;
  std::uint32_t count = 0;  // number of ranks
  std::uint32_t first = 0;  // lowest rank, or leftmost in the declared order
  bool wide = false;        // payload is in accumulator type, else in wire type
  bool overflow = false;
  bool taken = false;
  std::span<std::byte> buffer;
  std::uint32_t payload_bytes = 0;

  [[nodiscard]] std::span<const std::byte> payload() const {
    return std::span<const std::byte>(buffer).first(payload_bytes);
  }
};

class PiecePool {
 public:
  PiecePool(std::size_t pieces, std::size_t buffer_bytes, std::size_t rank_words);
  PiecePool(const PiecePool&) = delete;
  PiecePool& operator=(const PiecePool&) = delete;

  // nullptr when all are taken; else a piece whose rank set is empty.
  Piece* take();
  // Returns false, and changes nothing, if the piece is not taken.
  bool give_back(Piece* piece);
  // Frees all pieces, taken or not.
  void reset();

  [[nodiscard]] std::size_t size() const { return pieces_.size(); }
  [[nodiscard]] std::size_t taken() const { return taken_; }
  [[nodiscard]] std::uint64_t memory_bytes() const;

 private:
  std::vector<std::byte> buffers_;
  std::vector<std::uint64_t> ranks_;
  std::vector<Piece> pieces_;
  Piece* free_ = nullptr;
  std::size_t taken_ = 0;
};

}  // namespace tributary::completion
