// The kernels' loops over arrays, once for all types, ops and instruction sets.
//
// Each is inlined into a function that is compiled for one instruction set (sets.h), and is plain
// enough that the compiler makes vector code of it. Elements are read and written by memcpy
// because those of a packet have no alignment.
#pragma once

#include <utility>

#include "aggregator/kernels/element.h"

namespace tributary::aggregator::kernels {

// Of the accumulator, what stays in the nearest cache while more than one group of sources passes.
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

template <typename Op>
concept Undoes = requires(typename Op::U overflow) {
  Op::quick({}, {}, overflow);
};

template <typename P>
TRIBUTARY_INLINE typename P::Acc widened(const std::byte* src, std::size_t i) {
  return P::Element::widen(load<typename P::Wire>(src, i));
}

template <typename P>
TRIBUTARY_INLINE bool exact_fold(std::byte* __restrict acc, const std::byte* __restrict src,
                                 std::size_t n) {
  using Acc = typename P::Acc;
  Bits<Acc> overflow = 0;
  TRIBUTARY_UNROLL
  for (std::size_t i = 0; i < n; ++i)
    store(acc, i, P::Op::apply(load<Acc>(acc, i), widened<P>(src, i), overflow));
  return saturated(overflow);
}

// One step as fast as can be: where overflow is marked the result is of no use yet.
template <typename P>
TRIBUTARY_INLINE typename P::Acc quick(typename P::Acc a, typename P::Acc b,
                                       Bits<typename P::Acc>& overflow) {
  if constexpr (Undoes<typename P::Op>)
    return P::Op::quick(a, b, overflow);
  else
    return P::Op::apply(a, b, overflow);
}

template <typename P>
TRIBUTARY_INLINE bool quick_fold(std::byte* __restrict acc, const std::byte* __restrict src,
                                 std::size_t n) {
  using Acc = typename P::Acc;
  Bits<Acc> overflow = 0;
  TRIBUTARY_UNROLL
  for (std::size_t i = 0; i < n; ++i)
    store(acc, i, quick<P>(load<Acc>(acc, i), widened<P>(src, i), overflow));
  return saturated(overflow);
}

// Takes one source of a quick combination out again; of several, in any order.
template <typename P>
TRIBUTARY_INLINE void undo(std::byte* __restrict acc, const std::byte* __restrict src,
                           std::size_t n) {
  using Acc = typename P::Acc;
  for (std::size_t i = 0; i < n; ++i)
    store(acc, i, P::Op::undo(load<Acc>(acc, i), widened<P>(src, i)));
}

// What quick_fold() did, again and exactly. Overflow is rare enough to do the work twice.
template <typename P>
TRIBUTARY_INLINE bool redo(std::byte* __restrict acc, const std::byte* __restrict src,
                           std::size_t n) {
  if constexpr (Undoes<typename P::Op>) {
    undo<P>(acc, src, n);
    exact_fold<P>(acc, src, n);
  }
  return true;
}

template <typename P>
TRIBUTARY_INLINE bool fold(std::byte* __restrict acc, const std::byte* __restrict src,
                           std::size_t n) {
  return quick_fold<P>(acc, src, n) && redo<P>(acc, src, n);
}

// Sources that one loop takes at once: no more streams than CPUs prefetch.
inline constexpr std::size_t kGroup = 8;

// Combines a whole group from left to right, into what acc holds or, opening, into nothing.
template <typename P, bool kOpening, std::size_t... kIndex>
TRIBUTARY_INLINE bool combine(std::byte* __restrict acc, const void* const* srcs, std::size_t n,
                              std::index_sequence<kIndex...>) {
  using Acc = typename P::Acc;
  const std::byte* const src[] = {static_cast<const std::byte*>(srcs[kIndex])...};
  Bits<Acc> overflow = 0;
  for (std::size_t i = 0; i < n; ++i) {
    Acc value = kOpening ? widened<P>(src[0], i) : load<Acc>(acc, i);
    ((value =
          kOpening && kIndex == 0 ? value : quick<P>(value, widened<P>(src[kIndex], i), overflow)),
     ...);
    store(acc, i, value);
  }
  return saturated(overflow);
}

// A loop of its own for a full group, and one fold a source for a part of one.
template <typename P>
struct PlainGroups {
  TRIBUTARY_INLINE bool run(bool opening, std::byte* acc, const void* const* srcs,
                            std::size_t sources, std::size_t n) {
    constexpr auto kAll = std::make_index_sequence<kGroup>();
    if (sources == kGroup)
      return opening ? combine<P, true>(acc, srcs, n, kAll) : combine<P, false>(acc, srcs, n, kAll);
    if (opening) open<P>(acc, static_cast<const std::byte*>(srcs[0]), n);
    bool overflow = false;
    for (std::size_t s = opening ? 1 : 0; s < sources; ++s)
      overflow |= quick_fold<P>(acc, static_cast<const std::byte*>(srcs[s]), n);
    return overflow;
  }
};

// Sources from left to right, into what acc holds or, opening, into nothing. All at once if it is
// one group; otherwise block by block of the accumulator, group after group. A block that
// overflowed is done again, exactly.
template <typename P, typename Groups = PlainGroups<P>>
TRIBUTARY_INLINE bool fuse(bool opening, std::byte* acc, const void* const* srcs,
                           std::size_t sources, std::size_t n) {
  const std::size_t step = sources <= kGroup ? n : kBlockBytes / sizeof(typename P::Acc);
  bool saturated_once = false;
  for (std::size_t begin = 0; begin < n; begin += step) {
    const std::size_t count = n - begin < step ? n - begin : step;
    const auto source = [&](std::size_t s) {
      return static_cast<const std::byte*>(srcs[s]) + begin * sizeof(typename P::Wire);
    };
    std::byte* block = acc + begin * sizeof(typename P::Acc);
    // One group is taken as it is listed: to copy a list that was just written stalls.
    bool overflow = sources <= kGroup && Groups::run(opening, block, srcs, sources, count);
    const void* group[kGroup];
    for (std::size_t first = 0; sources > kGroup && first < sources; first += kGroup) {
      const std::size_t taken = sources - first < kGroup ? sources - first : kGroup;
      for (std::size_t k = 0; k < taken; ++k) group[k] = source(first + k);
      overflow |= Groups::run(opening && first == 0, block, group, taken, count);
    }
    if constexpr (Undoes<typename P::Op>) {
      if (overflow) {
        if (opening)
          open<P>(block, source(0), count);
        else
          for (std::size_t s = 0; s < sources; ++s) undo<P>(block, source(s), count);
        for (std::size_t s = opening ? 1 : 0; s < sources; ++s)
          exact_fold<P>(block, source(s), count);
      }
    }
    saturated_once |= overflow;
  }
  return saturated_once;
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
