// Prefetches bytes into the nearest cache, ahead of the code that reads them.
#pragma once

#include <cstddef>

namespace tributary {

inline constexpr std::size_t kCacheLineBytes = 64;

// GCC takes a function that only prefetches to have no effect, and drops calls of it. The empty asm
// statement keeps them.
[[gnu::always_inline]] inline void prefetch(const void* line) {
  __builtin_prefetch(line);
  __asm__ volatile("");
}

// The same for memory that will be written.
[[gnu::always_inline]] inline void prefetch_to_write(const void* line) {
  __builtin_prefetch(line, 1);
  __asm__ volatile("");
}

// Prefetches the first kMost bytes, or all if there are fewer. Data may begin anywhere in a line.
// With at least kMost bytes there is no counting loop: counting takes as long as fetching.
template <std::size_t kMost>
[[gnu::always_inline]] inline void prefetch(const std::byte* data, std::size_t bytes) {
  if (bytes >= kMost) {
#pragma GCC unroll 16
    for (std::size_t at = 0; at < kMost; at += kCacheLineBytes) prefetch(data + at);
    prefetch(data + kMost - 1);
  } else {
    for (std::size_t at = 0; at < bytes; at += kCacheLineBytes) prefetch(data + at);
    prefetch(data + bytes - 1);
  }
}

}  // namespace tributary
