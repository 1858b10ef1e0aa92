// NEON kernels: four vectors a turn, then the portable loop for the rest. Loads and stores go
// through bytes, which may have any alignment.
#include "aggregator/reduce_kernels.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstdint>

namespace tributary::aggregator::kernels {
namespace {

constexpr std::size_t kLanes = 4;
constexpr std::size_t kVectorBytes = 16;
constexpr std::size_t kUnroll = 4;

struct U32 {
  static uint8x16_t add(uint8x16_t a, uint8x16_t b) {
    return vreinterpretq_u8_u32(vaddq_u32(vreinterpretq_u32_u8(a), vreinterpretq_u32_u8(b)));
  }
};
struct F32 {
  static uint8x16_t add(uint8x16_t a, uint8x16_t b) {
    return vreinterpretq_u8_f32(vaddq_f32(vreinterpretq_f32_u8(a), vreinterpretq_f32_u8(b)));
  }
};

// Whole turns only; returns how many elements they were.
template <typename Op>
std::size_t sum(std::byte* accumulator, const std::byte* input, std::size_t count) {
  auto* a = reinterpret_cast<std::uint8_t*>(accumulator);
  const auto* b = reinterpret_cast<const std::uint8_t*>(input);
  std::size_t done = 0;
  for (; count - done >= kUnroll * kLanes; done += kUnroll * kLanes) {
    for (std::size_t i = 0; i < kUnroll; ++i, a += kVectorBytes, b += kVectorBytes)
      vst1q_u8(a, Op::add(vld1q_u8(a), vld1q_u8(b)));
  }
  return done;
}

}  // namespace

void sum_u32_neon(std::byte* accumulator, const std::byte* input, std::size_t count) {
  const std::size_t done = sum<U32>(accumulator, input, count);
  sum_u32_portable(accumulator + done * 4, input + done * 4, count - done);
}
void sum_f32_neon(std::byte* accumulator, const std::byte* input, std::size_t count) {
  const std::size_t done = sum<F32>(accumulator, input, count);
  sum_f32_portable(accumulator + done * 4, input + done * 4, count - done);
}

}  // namespace tributary::aggregator::kernels
#endif
