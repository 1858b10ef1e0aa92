// Bytes on their way to the nearest cache, ahead of whoever reads them.
#pragma once

#include <cstddef>

namespace tributary {

inline constexpr std::size_t kCacheLineBytes = 64;

// To GCC, a function that does nothing but prefetch has no effect, and it drops calls of such: the
// empty statement is one that it must keep.
[[gnu::always_inline]] inline void prefetch(const void* line) {
  __builtin_prefetch(line);
  __asm__ volatile("");
}

// The same of what will be written.
[[gnu::always_inline]] inline void prefetch_to_write(const void* line) {
  __builtin_prefetch(line, 1);
  __asm__ volatile("");
}

// The first kMost bytes, or what there is. Data may begin anywhere in a line. Where there are as
// many, no loop: counting takes as long as fetching.
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
