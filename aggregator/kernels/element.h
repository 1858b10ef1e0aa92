// The wire type and the accumulator type of an element, and the conversions between them.
//
// An Element has the types Wire and Acc, widen(), narrow(), and Partial: the element whose Wire is
// this one's Acc, for accumulators that come from another node. A Pair is an element and an op.
#pragma once

#include "aggregator/kernels/operation.h"
#include "aggregator/kernels/small_float.h"

namespace tributary::aggregator::kernels {

template <typename T>
struct Same {
  using Wire = T;
  using Acc = T;
  using Partial = Same;
  static constexpr bool kCopies = true;  // widen() changes nothing
  TRIBUTARY_INLINE T widen(T value) { return value; }
  TRIBUTARY_INLINE T narrow(T value, Bits<T>&) { return value; }
};

// 0 or 1, so that logical ops become bitwise ones.
template <typename T>
struct Truth {
  using Wire = T;
  using Acc = T;
  using Partial = Truth;
  static constexpr bool kCopies = false;
  TRIBUTARY_INLINE T widen(T value) { return value != 0 ? T{1} : T{0}; }
  TRIBUTARY_INLINE T narrow(T value, Bits<T>&) { return value; }
};

// A small integer in a wider accumulator.
template <typename W, typename A, bool kSaturating>
struct Widened {
  using Wire = W;
  using Acc = A;
  using Partial = Same<A>;
  static constexpr bool kCopies = false;
  TRIBUTARY_INLINE A widen(W value) { return value; }
  TRIBUTARY_INLINE W narrow(A value, Bits<A>& overflow) {
    if constexpr (!kSaturating) return static_cast<W>(value);
    using Limits = std::numeric_limits<W>;
    A limited = value < A{Limits::max()} ? value : A{Limits::max()};
    if constexpr (std::is_signed_v<W>)
      limited = limited > A{Limits::min()} ? limited : A{Limits::min()};
    overflow = static_cast<Bits<A>>(overflow | mark<A>(limited != value));
    return static_cast<W>(limited);
  }
};

template <typename Format>
struct SmallFloat {
  using Wire = std::uint16_t;
  using Acc = float;
  using Partial = Same<float>;
  static constexpr bool kCopies = false;
  TRIBUTARY_INLINE float widen(std::uint16_t bits) { return Format::widen(bits); }
  TRIBUTARY_INLINE std::uint16_t narrow(float value, std::uint32_t&) {
    return Format::narrow(value);
  }
};

template <typename E, typename O>
struct Pair {
  using Element = E;
  using Op = O;
  using Wire = typename E::Wire;
  using Acc = typename E::Acc;
  using Merged = Pair<typename E::Partial, O>;
};

}  // namespace tributary::aggregator::kernels
