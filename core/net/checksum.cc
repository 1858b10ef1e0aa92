// The Internet checksum: portable kernel and choice at run time.
#include "core/net/checksum.h"

#include <array>
#include <atomic>
#include <cstring>

#include "core/net/checksum_kernels.h"

namespace tributary::wire {
namespace kernels {
namespace {

template <typename Word>
Word load(const std::byte* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

}  // namespace

std::uint16_t finish(WordSum sum, std::span<const std::byte> rest) {
  const std::byte* at = rest.data();
  std::size_t left = rest.size();
  for (; left >= 8; at += 8, left -= 8) {
    const auto word = load<std::uint64_t>(at);
    sum.total += word;
    sum.high += word >> 32;
  }
  if (left >= 4) {
    sum.total += load<std::uint32_t>(at);
    at += 4;
    left -= 4;
  }
  if (left >= 2) {
    sum.total += load<std::uint16_t>(at);
    at += 2;
    left -= 2;
  }
  if (left != 0) {
    const std::array<std::byte, 2> padded = {*at, std::byte{0}};
    sum.total += load<std::uint16_t>(padded.data());
  }
  return folded(sum);
}

std::uint16_t ones_complement_portable(std::span<const std::byte> bytes) {
  // Four independent lanes, which compilers turn into vectors of the baseline.
  constexpr std::size_t kLanes = 4;
  std::array<std::uint64_t, kLanes> total{};
  std::array<std::uint64_t, kLanes> high{};
  std::size_t at = 0;
  for (; bytes.size() - at >= kLanes * 8; at += kLanes * 8) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto word = load<std::uint64_t>(bytes.data() + at + lane * 8);
      total[lane] += word;
      high[lane] += word >> 32;
    }
  }
  WordSum sum;
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    sum.total += total[lane];
    sum.high += high[lane];
  }
  return finish(sum, bytes.subspan(at));
}

}  // namespace kernels

namespace {

// Headers are summed where they stand: a call through a pointer would cost more than the sum.
constexpr std::size_t kShortBytes = 64;

std::uint16_t choose_and_sum(std::span<const std::byte> bytes);

// Starts as the chooser, which replaces itself: no guard and no static-initialisation order on
// the packet path. Any thread may do it, all store the same value; hence relaxed.
constinit std::atomic<OnesComplementFunction> g_sum{choose_and_sum};

std::uint16_t choose_and_sum(std::span<const std::byte> bytes) {
  const OnesComplementFunction best = find_ones_complement(best_isa());
  g_sum.store(best, std::memory_order_relaxed);
  return best(bytes);
}

}  // namespace

OnesComplementFunction find_ones_complement(Isa isa) {
  if (!isa_available(isa)) return nullptr;
#if defined(__x86_64__)
  if (isa == Isa::avx2) return kernels::ones_complement_avx2;
  if (isa == Isa::avx512) return kernels::ones_complement_avx512;
#endif
  return kernels::ones_complement_portable;
}

std::uint16_t ones_complement_sum(std::span<const std::byte> bytes) {
  if (bytes.size() < kShortBytes) return kernels::finish({}, bytes);
  return g_sum.load(std::memory_order_relaxed)(bytes);
}

}  // namespace tributary::wire
