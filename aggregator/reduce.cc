// Chooses a kernel; the portable ones are here. int32 is summed as uint32: the same bits, and
// wrapping is defined.
#include "aggregator/reduce.h"

#include <cstring>

#include "aggregator/kernels/sets.h"
#include "aggregator/reduce_kernels.h"

namespace tributary::aggregator {
namespace kernels {
namespace {

// memcpy because elements of a packet have no alignment; compilers make vector code of it.
template <typename T>
void sum_elements(std::byte* __restrict accumulator, const std::byte* __restrict input,
                  std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    T a;
    T b;
    std::memcpy(&a, accumulator + i * sizeof(T), sizeof a);
    std::memcpy(&b, input + i * sizeof(T), sizeof b);
    a += b;
    std::memcpy(accumulator + i * sizeof(T), &a, sizeof a);
  }
}

}  // namespace

void sum_u32_portable(std::byte* accumulator, const std::byte* input, std::size_t count) {
  sum_elements<std::uint32_t>(accumulator, input, count);
}
void sum_f32_portable(std::byte* accumulator, const std::byte* input, std::size_t count) {
  sum_elements<float>(accumulator, input, count);
}

}  // namespace kernels

namespace {

struct SumKernels {
  ReduceFunction u32;
  ReduceFunction f32;
};

SumKernels sum_kernels(Isa isa) {
  switch (isa) {
    case Isa::portable: return {kernels::sum_u32_portable, kernels::sum_f32_portable};
#if defined(__x86_64__)
    case Isa::avx2: return {kernels::sum_u32_avx2, kernels::sum_f32_avx2};
    case Isa::avx512: return {kernels::sum_u32_avx512, kernels::sum_f32_avx512};
#elif defined(__aarch64__)
    case Isa::neon: return {kernels::sum_u32_neon, kernels::sum_f32_neon};
#endif
    default: return {nullptr, nullptr};
  }
}

}  // namespace

ReduceFunction find_reduce(wire::DType dtype, wire::ReduceOp op, Isa isa) {
  if (op != wire::ReduceOp::sum || !isa_available(isa)) return nullptr;
  const SumKernels sum = sum_kernels(isa);
  if (dtype == wire::DType::int32) return sum.u32;
  if (dtype == wire::DType::float32) return sum.f32;
  return nullptr;
}

const Kernels* find_kernels(wire::DType dtype, wire::ReduceOp op, Arithmetic arithmetic, Isa isa) {
  if (wire::why_invalid(dtype, op) != nullptr || !isa_available(isa)) return nullptr;
  const bool floats = wire::is_float(dtype);
  switch (isa) {
    case Isa::portable: break;
#if defined(__x86_64__)
    case Isa::avx2:
      return floats ? kernels::avx2_floats(dtype, op)
                    : kernels::avx2_integers(dtype, op, arithmetic);
    case Isa::avx512:
      return floats ? kernels::avx512_floats(dtype, op)
                    : kernels::avx512_integers(dtype, op, arithmetic);
#elif defined(__aarch64__)
    // The baseline has it all but conversions of float16.
    case Isa::neon:
      if (floats) return kernels::neon_floats(dtype, op);
      break;
#endif
    default: break;
  }
  return floats ? kernels::portable_floats(dtype, op)
                : kernels::portable_integers(dtype, op, arithmetic);
}

}  // namespace tributary::aggregator
