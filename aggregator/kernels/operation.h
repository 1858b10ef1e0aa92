// What one element of an accumulator and one of an input become: the scalar definition of every
// reduce op, which the loops apply to whole arrays and compilers turn into vector code.
//
// Written without branches for that reason. `overflow` collects marks: its top bit set means that
// some element was saturated; ops that cannot saturate leave it alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// Vector code comes from inlining into functions that are compiled for an instruction set.
#define TRIBUTARY_INLINE [[gnu::always_inline]] static inline

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

template <typename T>
struct SaturatingSum {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>& overflow) {
    using U = Bits<T>;
    const auto x = static_cast<U>(a);
    const auto sum = static_cast<U>(x + static_cast<U>(b));
    if constexpr (std::is_unsigned_v<T>) {
      const U carry = mark<T>(sum < x);
      overflow = static_cast<U>(overflow | carry);
      return static_cast<T>(sum | carry);
    } else {
      // Both operands' signs differ from the sum's.
      const auto wrong = static_cast<U>((x ^ sum) & (static_cast<U>(b) ^ sum));
      overflow = static_cast<U>(overflow | wrong);
      constexpr auto kMax = static_cast<U>(std::numeric_limits<T>::max());
      const auto limit = static_cast<U>((x >> kTopBit<T>)+kMax);
      return static_cast<T>(static_cast<T>(wrong) < 0 ? limit : sum);
    }
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

// Both sides may be any number: the accumulator can be another node's.
template <typename T>
struct LogicalAnd {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) { return ((a != 0) & (b != 0)) ? T{1} : T{0}; }
};
template <typename T>
struct LogicalOr {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) { return (a | b) != 0 ? T{1} : T{0}; }
};
template <typename T>
struct LogicalXor {
  TRIBUTARY_INLINE T apply(T a, T b, Bits<T>&) { return (a != 0) != (b != 0) ? T{1} : T{0}; }
};

// x86 gives NaNs that it makes a sign that others don't, and which operand's payload survives
// depends on the order that the compiler chose.
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

// The two comparisons differ for zeros of either sign alone, whose bits then combine.
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

// 16-bit floats are ordered by their bits as sign and magnitude. Format names the bits of
// infinity and of the quiet NaN.
template <typename Format, bool kMinimum>
struct SmallFloatExtreme {
  TRIBUTARY_INLINE std::int16_t key(std::uint16_t bits) {
    const auto value = static_cast<std::int16_t>(bits);
    return static_cast<std::int16_t>(value ^ ((value >> 15) & 0x7FFF));
  }
  TRIBUTARY_INLINE std::uint16_t apply(std::uint16_t a, std::uint16_t b, std::uint16_t&) {
    const std::int16_t x = key(a);
    const std::int16_t y = key(b);
    const std::int16_t extreme = kMinimum ? (y < x ? y : x) : (x < y ? y : x);
    const auto largest =
        static_cast<std::int16_t>((a & 0x7FFF) > (b & 0x7FFF) ? a & 0x7FFF : b & 0x7FFF);
    const auto ordered = static_cast<std::uint16_t>(key(static_cast<std::uint16_t>(extreme)));
    return largest > Format::kInfinity ? Format::kQuietNan : ordered;
  }
};

}  // namespace tributary::aggregator::kernels
