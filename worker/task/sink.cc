#include "worker/task/sink.h"

#include <algorithm>
#include <cstring>

#include "core/net/byte_order.h"
#include "core/net/crc32.h"
#include "worker/task/sha256.h"

namespace tributary::task {
namespace {

struct PieceHead {
  wire::be64 index;
  wire::be32 length;
  wire::be32 crc32;
};
static_assert(sizeof(PieceHead) == kPieceHead);

}  // namespace

std::vector<std::byte> pack_piece(std::uint64_t index, std::span<const std::byte> payload) {
  std::vector<std::byte> piece(kPieceHead + payload.size());
  const PieceHead head{index, static_cast<std::uint32_t>(payload.size()), wire::crc32(payload)};
  std::memcpy(piece.data(), &head, sizeof head);
  std::copy(payload.begin(), payload.end(), piece.begin() + kPieceHead);
  return piece;
}

void Sink::take(std::uint64_t index, std::span<const std::byte> piece) {
  if (index != held_ || piece.size() < kPieceHead) return;
  const auto payload = piece.subspan(kPieceHead);
  PieceHead head;
  std::memcpy(&head, piece.data(), sizeof head);
  if (head.index != index || head.length != payload.size() ||
      payload.size() != piece_length(index, value_.size(), piece_bytes_) ||
      head.crc32 != wire::crc32(payload))
    return;
  std::copy(payload.begin(), payload.end(),
            value_.begin() + static_cast<std::ptrdiff_t>(index * piece_bytes_));
  ++held_;
}

bool Sink::check() {
  if (held_ < pieces_of(value_.size(), piece_bytes_)) return false;
  if (sha256_hex(value_) == digest_) return true;
  held_ = 0;
  return false;
}

}  // namespace tributary::task
