// Results that a switch writes once for all ranks at its memif ports, as bytes: memory that the
// switch writes and its clients read, and frames that say where in it a result lies. This project's
// own addition to memif; native byte order.
//
//   memfd:  [slot 0][slot 1] …      slot:  [tag][…][packet]
//
// The tag changes with each result that is written to the slot, and is 0 meanwhile. A reader copies
// the packet, and looks at the tag before and after: another one than the frame's says that the
// switch has written over it. (A sequence lock: Boehm, Can Seqlocks Get Along with Programming
// Language Memory Models?, MSPC 2012.)
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/wire/header.h"

namespace tributary::worker::memif {

// IEEE 802's first local experimental type: such frames stay within the host.
inline constexpr std::uint16_t kEtherTypeResult = 0x88B5;

// Behind the Ethernet header of such a frame.
struct ResultReference {
  std::uint32_t region;
  std::uint32_t slot;
  std::uint64_t tag;
  std::uint32_t packet_bytes;
  std::uint32_t reserved = 0;
};

// The header is before a multiple of 64 bytes, so that elements begin there.
inline constexpr std::size_t kResultElementsAt = 128;
inline constexpr std::size_t kResultPacketAt = kResultElementsAt - wire::kHeaderBytes;

}  // namespace tributary::worker::memif
