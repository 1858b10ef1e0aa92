// The portable set: the loops compiled for whatever the build's baseline is.
#pragma once

#include "aggregator/kernels/loops.h"

namespace tributary::aggregator::kernels {

template <typename P>
struct Portable {
  static void open(void* acc, const void* src, std::size_t n) {
    kernels::open<P>(static_cast<std::byte*>(acc), static_cast<const std::byte*>(src), n);
  }
  static bool fold(void* acc, const void* src, std::size_t n) {
    return kernels::fold<P>(static_cast<std::byte*>(acc), static_cast<const std::byte*>(src), n);
  }
  static bool fuse(void* acc, const void* const* srcs, std::size_t sources, std::size_t n) {
    return kernels::fuse<P>(static_cast<std::byte*>(acc), srcs, sources, n);
  }
  template <bool kMean>
  static bool finish(void* out, const void* acc, std::size_t n, std::uint32_t divisor) {
    return kernels::finish<P, kMean>(static_cast<std::byte*>(out),
                                     static_cast<const std::byte*>(acc), n, divisor);
  }
};

}  // namespace tributary::aggregator::kernels
