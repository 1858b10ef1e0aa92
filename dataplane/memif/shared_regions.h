// Memory of a memif client that is mapped here too, and the places in it that descriptors name.
//
// The client writes to it at any time, and that is all: it is a memfd that cannot shrink, and the
// size of the mapping stays what it was when the client was accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "worker/transport/memif_format.h"

namespace tributary::dataplane {

// A limit to the regions of one client together: their pages count as this process's memory once
// they are touched here.
inline constexpr std::uint64_t kMostSharedBytes = std::uint64_t{2} << 30;

class SharedRegions {
 public:
  // Maps `bytes` of `memory` as the next region. Throws MemifRefusal where that is no memory of
  // that size, sealed against shrinking; the same memory as another region; or too much.
  void add(int memory, std::uint64_t bytes);

  [[nodiscard]] std::size_t size() const { return regions_.size(); }
  // nullptr: it does not lie in one region.
  [[nodiscard]] std::byte* find(std::uint16_t region, std::uint64_t offset,
                                std::uint64_t bytes) const {
    if (region >= regions_.size()) return nullptr;
    const Region& in = regions_[region];
    return bytes <= in.bytes && offset <= in.bytes - bytes ? in.memory.get() + offset : nullptr;
  }
  [[nodiscard]] std::byte* find(const worker::memif::Descriptor& of) const {
    return find(of.region, of.offset, of.length);
  }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* at) const;
  };
  struct Region {
    std::unique_ptr<std::byte, Unmap> memory;
    std::uint64_t bytes;
    std::uint64_t file;  // the inode
  };
  [[nodiscard]] std::uint64_t check(int memory, std::uint64_t bytes) const;

  std::vector<Region> regions_;
};

}  // namespace tributary::dataplane
