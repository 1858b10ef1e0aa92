// One loop each, in vectors of a width that the compiler turns into the instructions of the
// function that it is inlined into.
#include "tools/loadgen/traffic/pattern_kernels.h"

#include <cstring>

#include "core/net/checksum_kernels.h"

namespace tributary::loadgen {
namespace {

template <typename T, std::size_t kBytes>
struct Vector {
  using type [[gnu::vector_size(kBytes)]] = T;
};

template <typename V>
[[gnu::always_inline]] inline void load(const std::byte* at, V& value) {
  std::memcpy(&value, at, sizeof value);
}

// Sums the values in the registers that they are written from: they need not be read again.
template <typename T, std::size_t kBytes>
[[gnu::always_inline]] inline std::uint16_t write_loop(const std::byte* table, T addend,
                                                       std::span<std::byte> out) {
  using Values = typename Vector<T, kBytes>::type;
  using Words = typename Vector<std::uint64_t, kBytes>::type;
  Words total{};
  Words high{};
  std::size_t at = 0;
  for (; out.size() - at >= kBytes; at += kBytes) {
    Values values;
    load(table + at, values);
    values += addend;
    std::memcpy(out.data() + at, &values, kBytes);
    Words words;
    std::memcpy(&words, &values, kBytes);
    total += words;
    high += words >> 32;
  }
  wire::kernels::WordSum sum;
  for (std::size_t lane = 0; lane < kBytes / sizeof(std::uint64_t); ++lane) {
    sum.total += total[lane];
    sum.high += high[lane];
  }
  const std::span<std::byte> rest = out.subspan(at);
  for (std::size_t i = 0; i + sizeof(T) <= rest.size(); i += sizeof(T)) {
    T value;
    load(table + at + i, value);
    value += addend;
    std::memcpy(rest.data() + i, &value, sizeof value);
  }
  return wire::kernels::finish(sum, rest);
}

template <typename T, std::size_t kBytes>
[[gnu::always_inline]] inline bool equal_loop(const std::byte* table, T addend,
                                              std::span<const std::byte> bytes) {
  using Values = typename Vector<T, kBytes>::type;
  using Words = typename Vector<std::uint64_t, kBytes>::type;
  Words differing{};
  std::size_t at = 0;
  for (; bytes.size() - at >= kBytes; at += kBytes) {
    Values values;
    Words expected;
    Words got;
    load(table + at, values);
    values += addend;
    load(bytes.data() + at, got);
    std::memcpy(&expected, &values, kBytes);
    differing |= expected ^ got;
  }
  std::uint64_t any = 0;
  for (std::size_t lane = 0; lane < kBytes / sizeof(std::uint64_t); ++lane) any |= differing[lane];
  for (; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T value;
    std::uint32_t expected = 0;
    std::uint32_t got = 0;
    static_assert(sizeof value == sizeof expected);
    load(table + at, value);
    value += addend;
    std::memcpy(&expected, &value, sizeof expected);
    load(bytes.data() + at, got);
    any |= expected ^ got;
  }
  return any == 0;
}

template <typename T>
std::uint16_t write_portable(const std::byte* table, T addend, std::span<std::byte> out) {
  return write_loop<T, 16>(table, addend, out);
}
template <typename T>
bool equal_portable(const std::byte* table, T addend, std::span<const std::byte> bytes) {
  return equal_loop<T, 16>(table, addend, bytes);
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("avx2")]] std::uint16_t write_avx2(const std::byte* table, T addend,
                                                 std::span<std::byte> out) {
  return write_loop<T, 32>(table, addend, out);
}
template <typename T>
[[gnu::target("avx2")]] bool equal_avx2(const std::byte* table, T addend,
                                        std::span<const std::byte> bytes) {
  return equal_loop<T, 32>(table, addend, bytes);
}
template <typename T>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] std::uint16_t write_avx512(
    const std::byte* table, T addend, std::span<std::byte> out) {
  return write_loop<T, 64>(table, addend, out);
}
template <typename T>
[[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] bool equal_avx512(
    const std::byte* table, T addend, std::span<const std::byte> bytes) {
  return equal_loop<T, 64>(table, addend, bytes);
}
#endif

}  // namespace

template <typename T>
PatternKernels<T> pattern_kernels([[maybe_unused]] Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512) return {write_avx512<T>, equal_avx512<T>};
  if (isa == Isa::avx2) return {write_avx2<T>, equal_avx2<T>};
#endif
  return {write_portable<T>, equal_portable<T>};
}

template PatternKernels<float> pattern_kernels<float>(Isa isa);
template PatternKernels<std::int32_t> pattern_kernels<std::int32_t>(Isa isa);

}  // namespace tributary::loadgen
