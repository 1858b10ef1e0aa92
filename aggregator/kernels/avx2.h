// The AVX2 set: the loops compiled for AVX2 and F16C.
#pragma once

#if defined(__x86_64__)
#include "aggregator/kernels/loops.h"

#define TRIBUTARY_AVX2 [[gnu::target("avx2,f16c")]]

namespace tributary::aggregator::kernels {

template <typename P>
struct Avx2 {
  TRIBUTARY_AVX2 static void open(void* acc, const void* src, std::size_t n) {
    kernels::open<P>(static_cast<std::byte*>(acc), static_cast<const std::byte*>(src), n);
  }
  TRIBUTARY_AVX2 static bool fold(void* acc, const void* src, std::size_t n) {
    return kernels::fold<P>(static_cast<std::byte*>(acc), static_cast<const std::byte*>(src), n);
  }
  TRIBUTARY_AVX2 static bool fuse(void* acc, const void* const* srcs, std::size_t sources,
                                  std::size_t n) {
    return kernels::fuse<P>(static_cast<std::byte*>(acc), srcs, sources, n);
  }
  template <bool kMean>
  TRIBUTARY_AVX2 static bool finish(void* out, const void* acc, std::size_t n,
                                    std::uint32_t divisor) {
    return kernels::finish<P, kMean>(static_cast<std::byte*>(out),
                                     static_cast<const std::byte*>(acc), n, divisor);
  }
};

}  // namespace tributary::aggregator::kernels
#endif
