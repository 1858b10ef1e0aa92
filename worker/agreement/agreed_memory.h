// Memory whose low address bits are the same on all ranks, for ops whose addresses choose switches
// (A3).
//
// Every rank has the same imaginary arena, which begins at an address whose low bits are 0, and
// takes one allocation behind the other from it, each from a block's begin on. Real memory is
// mapped where its address has the low bits of the arena's. So ranks that make the same calls in
// the same order agree, and small arrays take turns over the switches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "worker/layout/address_bits.h"

namespace tributary::worker {

class AgreedMemory {
 public:
  // Without bits that choose: memory at any page.
  explicit AgreedMemory(const AddressBits& bits) : bits_(bits) {}
  // Any thread. Zeros, which live as long as the pointer. Throws std::bad_alloc; the next call then
  // gets the same low bits.
  std::shared_ptr<std::byte[]> allocate(std::size_t bytes);

 private:
  const AddressBits bits_;
  std::mutex mutex_;
  std::uint64_t next_ = 0;  // in the arena, modulo the bits' period
};

}  // namespace tributary::worker
