// The scalar definition of every reduce op, on one element of an accumulator and one of an input.
// The loops apply it to whole arrays, and compilers turn it into vector code.
//
// Written without branches for that reason. `overflow` collects marks: its top bit is set if some
// element was saturated; ops that cannot saturate do not change it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// Inlined into functions that are compiled for an instruction set, which yields vector code.
#define TRIBUTARY_INLINE [[gnu::always_inline]] static inline
// For loops with few loads per iteration; clang unrolls by itself.
#if defined(__clang__)
#define TRIBUTARY_UNROLL
#else
#define TRIBUTARY_UNROLL _Pragma("GCC unroll 4")
#endif

namespace tributary::aggregator::kernels {

template <std::size_t kBytes>
using Unsigned = std::conditional_t<
    kBytes == 1, std::uint8_t,
    std::conditional_t<kBytes == 2, std::uint16_t,
                       std::conditional_t<kBytes == 4, std::uint32_t, std::uint64_t>>>;
template <typename T>
using Bits = Unsigned<sizeof(T)>;

template <typename To, typename From>
TRIBUTARY_INLINE To reinterpret(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

template <typename T>
inline constexpr int kTopBit = sizeof(T) * 8 - 1;
// All bits set where the condition holds.
template <typename T>
TRIBUTARY_INLINE Bits<T> mark(bool condition) {
  return condition ? static_cast<Bits<T>>(~Bits<T>{0}) : Bits<T>{0};
}

template <typename T>
struct WrappingSum {
  static_assert(std::is_unsigned_v<T>);
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) { return static_cast<T>(a + b); }
};

template <typename T>
struct WrappingProduct {
  static_assert(std::is_unsigned_v<T>);
  // 1u *: uint16_t would be promoted to int, which overflows.
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) { return static_cast<T>(1u * a * b); }
};

// quick() marks overflow like apply() but leaves the wrapped sum, which is faster. undo() restores
// the value before it.
template <typename T>
struct SaturatingSum {
  using U = Bits<T>;
  TRIBUTARY_INLINE T apply(T a, T b, U& overflow) {
    constexpr auto kMax = static_cast<U>(std::numeric_limits<T>::max());
    U wrong = 0;
    const T sum = quick(a, b, wrong);
    overflow = static_cast<U>(overflow | wrong);
    const U limit =
        std::is_unsigned_v<T> ? kMax : static_cast<U>((static_cast<U>(a) >> kTopBit<T>)+kMax);
    return static_cast<T>(wrong >> kTopBit<T> != 0 ? limit : static_cast<U>(sum));
  }
  TRIBUTARY_INLINE T quick(T a, T b, U& overflow) {
    const auto x = static_cast<U>(a);
    const auto y = static_cast<U>(b);
    const auto sum = static_cast<U>(x + y);
    // The carry out of the top bit, or that both operands' signs differ from the sum's.
    overflow = static_cast<U>(
        overflow | (std::is_unsigned_v<T> ? (x & y) | ((x | y) & ~sum) : (x ^ sum) & (y ^ sum)));
    return static_cast<T>(sum);
  }
  TRIBUTARY_INLINE T undo(T sum, T b) {
    return static_cast<T>(static_cast<U>(static_cast<U>(sum) - static_cast<U>(b)));
  }
};

template <typename T>
struct SaturatingProduct {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>& overflow) {
    using Limits = std::numeric_limits<T>;
    if constexpr (sizeof(T) <= 4) {
      using Wide = std::conditional_t<std::is_unsigned_v<T>, Unsigned<2 * sizeof(T)>,
                                      std::make_signed_t<Unsigned<2 * sizeof(T)>>>;
      const auto exact = static_cast<Wide>(Wide{a} * Wide{b});
      auto limited = exact < Wide{Limits::max()} ? exact : Wide{Limits::max()};
      if constexpr (std::is_signed_v<T>)
        limited = limited > Wide{Limits::min()} ? limited : Wide{Limits::min()};
      overflow = static_cast<Bits<T>>(overflow | mark<T>(limited != exact));
      return static_cast<T>(limited);
    } else {
      T product{};
      const bool wrong = __builtin_mul_overflow(a, b, &product);
      const T limit = std::is_signed_v<T> && (a < 0) != (b < 0) ? Limits::min() : Limits::max();
      overflow |= mark<T>(wrong);
      return wrong ? limit : product;
    }
  }
};

template <typename T>
struct Minimum {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) { return b < a ? b : a; }
};
template <typename T>
struct Maximum {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) { return a < b ? b : a; }
};

template <typename T>
struct BitAnd {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) { return static_cast<T>(a & b); }
};
template <typename T>
struct BitOr {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) { return static_cast<T>(a | b); }
};
template <typename T>
struct BitXor {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) { return static_cast<T>(a ^ b); }
};

// x86 gives the NaNs that it creates another sign than other CPUs, and which operand's payload
// survives depends on the order that the compiler chose.
template <typename T>
TRIBUTARY_INLINE T one_nan(T value) {
  return value != value ? std::numeric_limits<T>::quiet_NaN() : value;
}
template <typename T>
struct FloatSum {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) { return one_nan(a + b); }
};
template <typename T>
struct FloatProduct {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) { return one_nan(a * b); }
};

// The two comparisons differ only for zeros of different sign, whose bits are then combined.
template <typename T>
struct FloatMinimum {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) {
    const auto bits = static_cast<Bits<T>>(reinterpret<Bits<T>>(a < b ? a : b) |
                                           reinterpret<Bits<T>>(b < a ? b : a));
    return __builtin_isunordered(a, b) ? std::numeric_limits<T>::quiet_NaN() : reinterpret<T>(bits);
  }
};
template <typename T>
struct FloatMaximum {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) {
    const auto bits = static_cast<Bits<T>>(reinterpret<Bits<T>>(a > b ? a : b) &
                                           reinterpret<Bits<T>>(b > a ? b : a));
    return __builtin_isunordered(a, b) ? std::numeric_limits<T>::quiet_NaN() : reinterpret<T>(bits);
  }
};

// 16-bit floats are ordered by their bits as sign and magnitude, or by a key in two's complement.
// The keys of NaNs lie at both ends: rotated, they all become the least, or the greatest, as
// unsigned numbers. Format names the bits of infinity and of the quiet NaN.
template <typename Format, bool kMinimum>
struct SmallFloatExtreme {
  using U = std::uint16_t;
  static constexpr U kRotation = kMinimum ? 0xFFFF - Format::kInfinity : Format::kInfinity + 1;
  static constexpr U kNans = 2 * (0x7FFF - Format::kInfinity);

  // Its own inverse.
  TRIBUTARY_INLINE U key(U bits) {
    return static_cast<U>(bits ^ (static_cast<U>(static_cast<std::int16_t>(bits) >> 15) & 0x7FFF));
  }
  TRIBUTARY_INLINE U apply(U a, U b, U&) {
    const auto x = static_cast<U>(key(a) + kRotation);
    const auto y = static_cast<U>(key(b) + kRotation);
    const U extreme = kMinimum ? (y < x ? y : x) : (x < y ? y : x);
    const U ordered = key(static_cast<U>(extreme - kRotation));
    const bool nan = kMinimum ? extreme < kNans : extreme > 0xFFFF - kNans;
    return nan ? Format::kQuietNan : ordered;
  }
};

}  // namespace tributary::aggregator::kernels
