// The kernels behind find_reduce(), one file per instruction set. Each function may only be
// called where its set is available; only reduce.cc and the sets' own files include this.
#pragma once

#include <cstddef>

namespace tributary::aggregator::kernels {

void sum_u32_portable(std::byte* accumulator, const std::byte* input, std::size_t count);
void sum_f32_portable(std::byte* accumulator, const std::byte* input, std::size_t count);

#if defined(__x86_64__)
void sum_u32_avx2(std::byte* accumulator, const std::byte* input, std::size_t count);
void sum_f32_avx2(std::byte* accumulator, const std::byte* input, std::size_t count);
void sum_u32_avx512(std::byte* accumulator, const std::byte* input, std::size_t count);
void sum_f32_avx512(std::byte* accumulator, const std::byte* input, std::size_t count);
#elif defined(__aarch64__)
void sum_u32_neon(std::byte* accumulator, const std::byte* input, std::size_t count);
void sum_f32_neon(std::byte* accumulator, const std::byte* input, std::size_t count);
#endif

}  // namespace tributary::aggregator::kernels
