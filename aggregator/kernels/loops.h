// The kernels' loops over arrays, once for all types, ops and instruction sets.
//
// Each is inlined into a function that is compiled for one instruction set (sets.h), and is plain
// enough that the compiler makes vector code of it. Elements are read and written by memcpy
// because those of a packet have no alignment.
#pragma once

#include <utility>

#include "aggregator/kernels/element.h"

namespace tributary::aggregator::kernels {

// What stays in the nearest cache while a loop makes several passes over it.
inline constexpr std::size_t kBlockBytes = 2048;

template <typename T>
TRIBUTARY_INLINE T load(const std::byte* bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof value);
  return value;
}
template <typename T>
TRIBUTARY_INLINE void store(std::byte* bytes, std::size_t i, T value) {
  std::memcpy(bytes + i * sizeof(T), &value, sizeof value);
}
template <typename T>
TRIBUTARY_INLINE bool saturated(T overflow) {
  return overflow >> kTopBit<T> != 0;
}

template <typename P>
TRIBUTARY_INLINE void open(std::byte* __restrict acc, const std::byte* __restrict src,
                           std::size_t n) {
  using Wire = typename P::Wire;
  if constexpr (P::Element::kCopies) {
    std::memcpy(acc, src, n * sizeof(Wire));
  } else {
    for (std::size_t i = 0; i < n; ++i) store(acc, i, P::Element::widen(load<Wire>(src, i)));
  }
}

// Combines kCount sources, from left to right: into what acc holds or, opening, into nothing.
template <typename P, bool kOpening, std::size_t... kIndex>
TRIBUTARY_INLINE bool combine(std::byte* __restrict acc, const std::byte* const* srcs,
                              std::size_t n, std::index_sequence<kIndex...>) {
  using Wire = typename P::Wire;
  using Acc = typename P::Acc;
  const std::byte* const src[] = {srcs[kIndex]...};
  Bits<Acc> overflow = 0;
  for (std::size_t i = 0; i < n; ++i) {
    Acc value = kOpening ? P::Element::widen(load<Wire>(src[0], i)) : load<Acc>(acc, i);
    ((value = kOpening && kIndex == 0
                  ? value
                  : P::Op::apply(value, P::Element::widen(load<Wire>(src[kIndex], i)), overflow)),
     ...);
    store(acc, i, value);
  }
  return saturated(overflow);
}

template <typename P>
TRIBUTARY_INLINE bool fold(std::byte* __restrict acc, const std::byte* __restrict src,
                           std::size_t n) {
  using Acc = typename P::Acc;
  Bits<Acc> overflow = 0;
  for (std::size_t i = 0; i < n; ++i)
    store(acc, i,
          P::Op::apply(load<Acc>(acc, i), P::Element::widen(load<typename P::Wire>(src, i)),
                       overflow));
  return saturated(overflow);
}

// Takes eight sources a pass, then what is left one by one, over blocks of the accumulator: no
// more streams at a time than CPUs prefetch.
template <typename P>
TRIBUTARY_INLINE bool fuse(std::byte* acc, const void* const* srcs, std::size_t sources,
                           std::size_t n) {
  constexpr std::size_t kGroup = 8;
  constexpr std::size_t kBlock = kBlockBytes / sizeof(typename P::Acc);
  constexpr auto kAll = std::make_index_sequence<kGroup>();
  bool overflow = false;
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    const std::size_t count = n - begin < kBlock ? n - begin : kBlock;
    std::byte* block = acc + begin * sizeof(typename P::Acc);
    const std::byte* group[kGroup];
    for (std::size_t s = 0; s < sources;) {
      const std::size_t taken = sources - s >= kGroup ? kGroup : 1;
      for (std::size_t k = 0; k < taken; ++k)
        group[k] = static_cast<const std::byte*>(srcs[s + k]) + begin * sizeof(typename P::Wire);
      if (taken == kGroup)
        overflow |= s == 0 ? combine<P, true>(block, group, count, kAll)
                           : combine<P, false>(block, group, count, kAll);
      else if (s == 0)
        open<P>(block, group[0], count);
      else
        overflow |= fold<P>(block, group[0], count);
      s += taken;
    }
  }
  return overflow;
}

// Block by block through a copy, so that `out` may be `acc`: what a block writes was read before.
template <typename P, bool kMean>
TRIBUTARY_INLINE bool finish(std::byte* out, const std::byte* acc, std::size_t n,
                             std::uint32_t divisor) {
  using Wire = typename P::Wire;
  using Acc = typename P::Acc;
  if constexpr (std::is_same_v<Wire, Acc> && !kMean) {
    if (out != acc) std::memcpy(out, acc, n * sizeof(Wire));
    return false;
  } else {
    constexpr std::size_t kBlock = kBlockBytes / sizeof(Wire);
    Wire block[kBlock];
    Bits<Acc> overflow = 0;
    for (std::size_t begin = 0; begin < n; begin += kBlock) {
      const std::size_t count = n - begin < kBlock ? n - begin : kBlock;
      const std::byte* from = acc + begin * sizeof(Acc);
      for (std::size_t i = 0; i < count; ++i) {
        Acc value = load<Acc>(from, i);
        if constexpr (kMean) value = one_nan(value / static_cast<Acc>(divisor));
        block[i] = P::Element::narrow(value, overflow);
      }
      std::memcpy(out + begin * sizeof(Wire), block, count * sizeof(Wire));
    }
    return saturated(overflow);
  }
}

}  // namespace tributary::aggregator::kernels
