// Selects an element and an op by data type, op and arithmetic, for a set of compiled functions.
//
// Set<Pair> holds static functions open, fold, fuse, fold_all and finish<mean> for its instruction
// set; a set may specialise it for some pairs.
#pragma once

#include "aggregator/kernels/element.h"
#include "aggregator/kernels/reduce.h"

namespace tributary::aggregator::kernels {

template <template <typename> class Set, typename P, bool kMean = false>
inline constexpr Kernels kKernels = {
    sizeof(typename P::Wire),
    sizeof(typename P::Acc),
    Set<P>::open,
    Set<P>::fold,
    Set<P>::fuse,
    Set<P>::fold_all,
    Set<typename P::Merged>::fold,
    Set<P>::template finish<kMean>,
    std::is_same_v<typename P::Wire, typename P::Acc> && !kMean,
};

// Sums and products of 8-bit integers are accumulated in 32 bits.
template <typename T, bool kSaturating>
using Accumulated = std::conditional_t<
    sizeof(T) == 1,
    Widened<T, std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>, kSaturating>,
    Same<T>>;

template <template <typename> class Set, typename T, template <typename> class Op>
constexpr const Kernels* saturating() {
  using Element = Accumulated<T, true>;
  return &kKernels<Set, Pair<Element, Op<typename Element::Acc>>>;
}
// Modulo a power of two, signed and unsigned types give the same bits.
template <template <typename> class Set, typename T, template <typename> class Op>
constexpr const Kernels* wrapping() {
  using Element = Accumulated<Bits<T>, false>;
  return &kKernels<Set, Pair<Element, Op<typename Element::Acc>>>;
}
template <template <typename> class Set, template <typename> class Element, typename T,
          template <typename> class Op>
constexpr const Kernels* plain() {
  return &kKernels<Set, Pair<Element<T>, Op<T>>>;
}

template <template <typename> class Set, typename T>
const Kernels* integer_kernels(wire::ReduceOp op, Arithmetic arithmetic) {
  const bool modular = arithmetic == Arithmetic::modular;
  switch (op) {
    case wire::ReduceOp::sum:
      return modular ? wrapping<Set, T, WrappingSum>() : saturating<Set, T, SaturatingSum>();
    case wire::ReduceOp::prod:
      return modular ? wrapping<Set, T, WrappingProduct>()
                     : saturating<Set, T, SaturatingProduct>();
    case wire::ReduceOp::min: return plain<Set, Same, T, Minimum>();
    case wire::ReduceOp::max: return plain<Set, Same, T, Maximum>();
    case wire::ReduceOp::bit_and: return plain<Set, Same, Bits<T>, BitAnd>();
    case wire::ReduceOp::bit_or: return plain<Set, Same, Bits<T>, BitOr>();
    case wire::ReduceOp::bit_xor: return plain<Set, Same, Bits<T>, BitXor>();
    case wire::ReduceOp::logical_and: return plain<Set, Truth, Bits<T>, BitAnd>();
    case wire::ReduceOp::logical_or: return plain<Set, Truth, Bits<T>, BitOr>();
    case wire::ReduceOp::logical_xor: return plain<Set, Truth, Bits<T>, BitXor>();
    case wire::ReduceOp::mean: return nullptr;
  }
  return nullptr;
}

template <template <typename> class Set>
const Kernels* boolean_kernels(wire::ReduceOp op) {
  switch (op) {
    case wire::ReduceOp::min:
    case wire::ReduceOp::bit_and:
    case wire::ReduceOp::logical_and: return plain<Set, Truth, std::uint8_t, BitAnd>();
    case wire::ReduceOp::max:
    case wire::ReduceOp::bit_or:
    case wire::ReduceOp::logical_or: return plain<Set, Truth, std::uint8_t, BitOr>();
    case wire::ReduceOp::bit_xor:
    case wire::ReduceOp::logical_xor: return plain<Set, Truth, std::uint8_t, BitXor>();
    default: return nullptr;
  }
}

template <template <typename> class Set>
const Kernels* find_integers(wire::DType dtype, wire::ReduceOp op, Arithmetic arithmetic) {
  switch (dtype) {
    case wire::DType::int8: return integer_kernels<Set, std::int8_t>(op, arithmetic);
    case wire::DType::int16: return integer_kernels<Set, std::int16_t>(op, arithmetic);
    case wire::DType::int32: return integer_kernels<Set, std::int32_t>(op, arithmetic);
    case wire::DType::int64: return integer_kernels<Set, std::int64_t>(op, arithmetic);
    case wire::DType::uint8: return integer_kernels<Set, std::uint8_t>(op, arithmetic);
    case wire::DType::uint32: return integer_kernels<Set, std::uint32_t>(op, arithmetic);
    case wire::DType::uint64: return integer_kernels<Set, std::uint64_t>(op, arithmetic);
    case wire::DType::boolean: return boolean_kernels<Set>(op);
    default: return nullptr;
  }
}

template <template <typename> class Set, typename Element, typename Minimum, typename Maximum>
const Kernels* float_kernels(wire::ReduceOp op) {
  using Acc = typename Element::Acc;
  using Extreme = Same<typename Element::Wire>;
  switch (op) {
    case wire::ReduceOp::sum: return &kKernels<Set, Pair<Element, FloatSum<Acc>>>;
    case wire::ReduceOp::mean: return &kKernels<Set, Pair<Element, FloatSum<Acc>>, true>;
    case wire::ReduceOp::prod: return &kKernels<Set, Pair<Element, FloatProduct<Acc>>>;
    case wire::ReduceOp::min: return &kKernels<Set, Pair<Extreme, Minimum>>;
    case wire::ReduceOp::max: return &kKernels<Set, Pair<Extreme, Maximum>>;
    default: return nullptr;
  }
}

template <template <typename> class Set>
const Kernels* find_floats(wire::DType dtype, wire::ReduceOp op) {
  switch (dtype) {
    case wire::DType::float16:
      return float_kernels<Set, SmallFloat<Float16>, SmallFloatExtreme<Float16, true>,
                           SmallFloatExtreme<Float16, false>>(op);
    case wire::DType::bfloat16:
      return float_kernels<Set, SmallFloat<BFloat16>, SmallFloatExtreme<BFloat16, true>,
                           SmallFloatExtreme<BFloat16, false>>(op);
    case wire::DType::float32:
      return float_kernels<Set, Same<float>, FloatMinimum<float>, FloatMaximum<float>>(op);
    case wire::DType::float64:
      return float_kernels<Set, Same<double>, FloatMinimum<double>, FloatMaximum<double>>(op);
    default: return nullptr;
  }
}

}  // namespace tributary::aggregator::kernels
