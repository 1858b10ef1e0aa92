// How payloads come to whoever sums them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/prefetch.h"

namespace tributary::aggregator {

// Who looks at a packet's payload first.
enum class Payloads : std::uint8_t {
  read_first,  // whoever handles the packet, before it is decided: to verify it
  untouched,   // nobody before it is summed
};

// Short ones are fetched whole: summing them is over before a CPU's own prefetcher has seen where
// they go on.
inline constexpr std::size_t kShortPayload = 1024;

// Of a payload that nobody has touched, or of the sum that it is added to, what is fetched ahead.
inline void prefetch_start(const std::byte* data, std::size_t bytes) {
  constexpr std::size_t kStartOfLong = 256;
  if (bytes <= kShortPayload)
    prefetch<kShortPayload>(data, bytes);
  else
    prefetch<kStartOfLong>(data, bytes);
}

}  // namespace tributary::aggregator
