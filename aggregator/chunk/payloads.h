// How payloads reach the code that sums them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/prefetch.h"

namespace tributary::aggregator {

// Whether a packet's payload has been read before it is summed.
enum class Payloads : std::uint8_t {
  read_first,  // the packet's handler reads it before the decision, to verify it
  untouched,   // its sum is the first to read it
};

// Payloads up to this size are prefetched whole: they are summed before the CPU's own prefetcher
// detects the stream.
inline constexpr std::size_t kShortPayload = 1024;

// Prefetches the start of an untouched payload, or of the sum that it is added to.
inline void prefetch_start(const std::byte* data, std::size_t bytes) {
  constexpr std::size_t kStartOfLong = 256;
  if (bytes <= kShortPayload)
    prefetch<kShortPayload>(data, bytes);
  else
    prefetch<kStartOfLong>(data, bytes);
}

}  // namespace tributary::aggregator
