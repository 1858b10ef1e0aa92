// NEON kernels for floats. NEON is aarch64's baseline, so the portable loops already use it; they
// only lack the instruction that converts float16.
#include "aggregator/kernels/sets.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#include "aggregator/kernels/catalog.h"
#include "aggregator/kernels/loops.h"

#define TRIBUTARY_SET neon
#define TRIBUTARY_TARGET
#include "aggregator/kernels/compiled_set.h"

namespace tributary::aggregator::kernels {
namespace neon {

template <>
struct Lanes<SmallFloat<Float16>> {
  using V = float32x4_t;
  static constexpr std::size_t kLanes = 4;
  static constexpr bool kConverts = true;
  TRIBUTARY_INLINE V load(const std::byte* p) {
    return vreinterpretq_f32_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(p)));
  }
  TRIBUTARY_INLINE void store(std::byte* p, V v) {
    vst1q_u8(reinterpret_cast<std::uint8_t*>(p), vreinterpretq_u8_f32(v));
  }
  TRIBUTARY_INLINE V widen(const std::byte* p) {
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(reinterpret_cast<const std::uint8_t*>(p))));
  }
  TRIBUTARY_INLINE void narrow(std::byte* p, V v) {
    vst1_u8(reinterpret_cast<std::uint8_t*>(p), vreinterpret_u8_f16(vcvt_f16_f32(v)));
  }
  TRIBUTARY_INLINE V add(V a, V b) { return vaddq_f32(a, b); }
  TRIBUTARY_INLINE V multiply(V a, V b) { return vmulq_f32(a, b); }
  TRIBUTARY_INLINE V divide(V v, float by) { return one_nan(vdivq_f32(v, vdupq_n_f32(by))); }
  TRIBUTARY_INLINE V one_nan(V v) {
    return vbslq_f32(vceqq_f32(v, v), v, vdupq_n_f32(std::numeric_limits<float>::quiet_NaN()));
  }
};

}  // namespace neon

const Kernels* neon_floats(wire::DType dtype, wire::ReduceOp op) {
  if (dtype != wire::DType::float16) return portable_floats(dtype, op);
  return find_floats<neon::Set>(dtype, op);
}

}  // namespace tributary::aggregator::kernels
#endif
