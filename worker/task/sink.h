// Data that arrives in pieces: 16 bytes of head (index, payload bytes, CRC-32; big-endian), then
// the payload (worker/python/tributary/_task/pieces.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tributary::task {

inline constexpr std::size_t kPieceHead = 16;

inline std::uint64_t pieces_of(std::uint64_t length, std::uint64_t piece_bytes) {
  return (length + piece_bytes - 1) / piece_bytes;
}
inline std::size_t piece_length(std::uint64_t index, std::uint64_t length,
                                std::uint64_t piece_bytes) {
  const std::uint64_t left = length - index * piece_bytes;
  return static_cast<std::size_t>(left < piece_bytes ? left : piece_bytes);
}
// A piece of `data`, ready to be sent.
std::vector<std::byte> pack_piece(std::uint64_t index, std::span<const std::byte> payload);

// Takes pieces in order, and keeps what it has over interruptions.
class Sink {
 public:
  Sink(std::uint64_t length, std::string digest, std::uint64_t piece_bytes)
      : piece_bytes_(piece_bytes),
        digest_(std::move(digest)),
        value_(static_cast<std::size_t>(length)) {}

  // Keeps the piece if it is the next one and whole; every other one is ignored.
  void take(std::uint64_t index, std::span<const std::byte> piece);
  // True if all is here with the right digest; with a wrong one, it begins anew.
  bool check();
  [[nodiscard]] std::uint64_t held() const { return held_; }
  [[nodiscard]] const std::vector<std::byte>& value() const { return value_; }
  std::vector<std::byte> release() { return std::move(value_); }

 private:
  std::uint64_t piece_bytes_;
  std::string digest_;
  std::vector<std::byte> value_;
  std::uint64_t held_ = 0;
};

}  // namespace tributary::task
