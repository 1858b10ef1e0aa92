// The address bits by which a communicator over several switches chooses a chunk's switch (A3).
//
//   address  ... | choice: `count` bits | place within a block: `low` bits |
//
// Memory is seen as blocks of 2^low bytes. A chunk goes to the switch of the block in which it
// begins: entry v mod I of a list of I switches, v being the block's choice. Chunks are those of an
// undivided op, so a chunk that begins before the end of a block, and ends behind it, is whole.
// Memory has to have the same lowest low + count bits on all ranks. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tributary {

struct AddressBits {
  std::uint32_t low = 0;
  std::uint32_t count = 0;  // 0: addresses choose nothing
  [[nodiscard]] bool choose() const { return count != 0; }
  // After how many bytes choices repeat.
  [[nodiscard]] std::uint64_t period() const { return std::uint64_t{1} << (low + count); }
  bool operator==(const AddressBits&) const = default;
};
// "12,2": low and count. Throws std::invalid_argument for anything else.
AddressBits address_bits_of(const std::string& text);

namespace layout {

// "2 from bit 12 on", "none"
std::string text_of(const AddressBits& bits);
// The mistake and the allowed values; empty: they can choose among so many switches.
std::string why_unusable(const AddressBits& bits, std::size_t switches);
// The same, of a job's chunks; for bits that choose.
std::string why_too_small(const AddressBits& bits, std::uint32_t chunk_bytes);

// An array as it lies in memory: parts of `count` elements, each cut into chunks for itself.
struct ChunkedArray {
  std::uint64_t address = 0;
  std::size_t element_bytes = 0;
  std::size_t count = 0;
  std::size_t elements_per_chunk = 1;
  std::size_t parts = 1;
};
// For each switch, the places of its chunks (worker/layout/chunk_places.h).
std::vector<std::vector<std::uint32_t>> chunks_by_switch(const ChunkedArray& array,
                                                         const AddressBits& bits,
                                                         std::size_t switches);

}  // namespace layout
}  // namespace tributary
