// Memory that is reserved at start for jobs of a later configuration: pieces of any size, first
// fit. A piece is returned when it is destroyed.
//
// Control thread only: takes pieces while it prepares a change, and returns them after the change
// was applied; in between the packet loop uses their memory.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tributary::aggregator {

class Reserve {
 public:
  // `memory` begins on a cache line, and so does each piece.
  explicit Reserve(std::span<std::byte> memory) : memory_(memory) {}
  Reserve(const Reserve&) = delete;
  Reserve& operator=(const Reserve&) = delete;

  class Piece {
   public:
    Piece() = default;
    Piece(Piece&& other) noexcept
        : from_(std::exchange(other.from_, nullptr)), bytes_(std::exchange(other.bytes_, {})) {}
    Piece& operator=(Piece&& other) noexcept {
      std::swap(from_, other.from_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Piece() {
      if (from_ != nullptr) from_->give_back(bytes_);
    }
    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

   private:
    friend Reserve;
    Piece(Reserve* from, std::span<std::byte> bytes) : from_(from), bytes_(bytes) {}
    Reserve* from_ = nullptr;
    std::span<std::byte> bytes_;
  };

  // Returns nullopt if no gap is that large. `bytes` is a multiple of a cache line.
  std::optional<Piece> take(std::size_t bytes) {
    std::size_t begin = 0;
    auto next = used_.begin();
    while (next != used_.end() && next->begin - begin < bytes) begin = (next++)->end;
    if (next == used_.end() && memory_.size() - begin < bytes) return std::nullopt;
    used_.insert(next, {begin, begin + bytes});
    return Piece(this, memory_.subspan(begin, bytes));
  }
  [[nodiscard]] std::size_t free_bytes() const {
    std::size_t used = 0;
    for (const Used& u : used_) used += u.end - u.begin;
    return memory_.size() - used;
  }
  [[nodiscard]] std::size_t bytes() const { return memory_.size(); }

 private:
  struct Used {
    std::size_t begin, end;
  };
  void give_back(std::span<std::byte> piece) {
    const auto begin = static_cast<std::size_t>(piece.data() - memory_.data());
    std::erase_if(used_, [begin](const Used& u) { return u.begin == begin; });
  }

  std::span<std::byte> memory_;
  std::vector<Used> used_;  // ascending
};

}  // namespace tributary::aggregator
