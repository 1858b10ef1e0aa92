// The kernels' loops over arrays, once for all types, ops and instruction sets.
//
// Each is inlined into a function that is compiled for one instruction set (sets.h), and is simple
// enough for the compiler to vectorise. Elements are read and written by memcpy because elements of
// a packet are not aligned.
#pragma once

#include <utility>

#include "aggregator/kernels/element.h"

namespace tributary::aggregator::kernels {

// The part of an accumulator that stays in the nearest cache while groups of sources pass over it.
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

// One step, as fast as possible: if it marks overflow, the result has to be computed again.
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

// Takes one source out of a quick combination; several may be taken out in any order.
template <typename P>
TRIBUTARY_INLINE void undo(std::byte* __restrict acc, const std::byte* __restrict src,
                           std::size_t n) {
  using Acc = typename P::Acc;
  for (std::size_t i = 0; i < n; ++i)
    store(acc, i, P::Op::undo(load<Acc>(acc, i), widened<P>(src, i)));
}

// Repeats quick_fold() exactly. Overflow is rare enough to do the work twice.
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

// Sources that one loop combines at once: no more streams than CPUs prefetch.
inline constexpr std::size_t kGroup = 8;

// Combines a whole group from left to right, into acc's value or, if opening, into a new one.
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

// One loop for a full group, and one fold per source for a smaller one.
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

// Combines sources from left to right, into acc's value or, if opening, into a new one. One group
// is done at once; more are done block by block of the accumulator, group after group. A block that
// overflowed is computed again, exactly.
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
    // A single group uses the caller's list: copying a list that was just written would stall.
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

// Block by block through a copy, so that `out` may be `acc`: a block is read before it is written.
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
