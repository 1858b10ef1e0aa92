// The chunks of an array that one op has: all of them, or those that addresses have chosen for a
// switch (A3).
//
//   array     chunk 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7
//   op        ·       | 0 | 1 | ·   ·   ·   2 | 3      places 1, 2, 6, 7
//
// An op counts its chunks from 0 on; a chunk's place is its number in the whole array, counted
// through all parts of it. So the chunks are those of an undivided op, and floats get the same
// bits.
#pragma once

#include <cstdint>
#include <span>

namespace tributary::layout {

class ChunkPlaces {
 public:
  ChunkPlaces() = default;  // every chunk
  // Those, ascending; the memory stays the caller's.
  explicit ChunkPlaces(std::span<const std::uint32_t> places) : places_(places), all_(false) {}

  [[nodiscard]] bool all() const { return all_; }
  [[nodiscard]] bool none() const { return !all_ && places_.empty(); }
  // Unless all().
  [[nodiscard]] std::size_t size() const { return places_.size(); }
  [[nodiscard]] ChunkPlaces part(std::size_t begin, std::size_t count) const {
    return ChunkPlaces(places_.subspan(begin, count));
  }
  // The place of one of the op's chunks; 0 for any other number.
  [[nodiscard]] std::uint32_t operator[](std::uint32_t chunk) const {
    if (all_) return chunk;
    return chunk < places_.size() ? places_[chunk] : 0;
  }

 private:
  std::span<const std::uint32_t> places_;
  bool all_ = true;
};

}  // namespace tributary::layout
