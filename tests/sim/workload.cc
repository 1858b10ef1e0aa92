#include "tests/sim/workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/prng.h"

namespace tributary::sim {
namespace {

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// Summing n floats in any order errs by at most n eps sum|x| (Higham, "Accuracy and Stability of
// Numerical Algorithms", section 4.2, whose unit roundoff is eps/2).
bool within_rounding(float got, std::span<const std::uint64_t> salts, std::uint32_t index,
                     std::size_t element) {
  double sum = 0;
  double magnitude = 0;
  for (const std::uint64_t salt : salts) {
    const double x = rounding_value_of(salt, index, element);
    sum += x;
    magnitude += std::abs(x);
  }
  const double bound = static_cast<double>(salts.size()) *
                       static_cast<double>(std::numeric_limits<float>::epsilon()) * magnitude;
  return std::abs(static_cast<double>(got) - sum) <= bound;
}

template <typename T>
T read_element(std::span<const std::byte> data, std::size_t i) {
  T value;
  std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
  return value;
}

}  // namespace

OpPlan plan_op(const JobScenario& job, std::uint64_t seed, std::uint32_t index) {
  Prng random(mix(seed ^ job.id) + index);
  OpPlan plan;
  if (job.op_bytes > 0) {
    plan.count = static_cast<std::uint32_t>(job.op_bytes / job.payload_scale() / 4);
    return plan;
  }
  const std::uint32_t kind = random.below(8);
  if (kind == 0) return {0, wire::DType::none, wire::Collective::barrier};
  plan.dtype = kind < 5 ? wire::DType::int32 : wire::DType::float32;
  plan.rounds = kind == 7;
  const std::uint32_t per_chunk = job.carried_chunk_bytes() / 4;
  // Boundaries first: nothing, one, around a chunk, around a round of shards.
  const std::array<std::uint32_t, 8> edges = {0,
                                              1,
                                              per_chunk - 1,
                                              per_chunk,
                                              per_chunk + 1,
                                              per_chunk * job.shards,
                                              per_chunk * job.shards + 1,
                                              job.max_elements};
  plan.count =
      random.below(3) == 0 ? edges[random.below(edges.size())] : random.below(job.max_elements + 1);
  plan.count = std::min(plan.count, job.max_elements);
  return plan;
}

std::int32_t value_of(std::uint64_t salt, std::uint32_t index, std::size_t element) {
  const std::uint64_t z = mix(salt + (std::uint64_t{index} << 32) + element);
  return static_cast<std::int32_t>(z & 0xFFFF) - 0x8000;
}

float rounding_value_of(std::uint64_t salt, std::uint32_t index, std::size_t element) {
  const std::uint64_t z = mix(~salt + (std::uint64_t{index} << 32) + element);
  const auto mantissa = static_cast<std::int32_t>(z & 0xFF'FFFF) - 0x80'0000;
  return std::ldexp(static_cast<float>(mantissa | 1), static_cast<int>(z >> 60) - 24);
}

void fill(const OpPlan& plan, std::uint64_t salt, std::uint32_t index, std::span<std::byte> data) {
  for (std::size_t i = 0; i < plan.count; ++i) {
    if (plan.rounds) {
      const float value = rounding_value_of(salt, index, i);
      std::memcpy(data.data() + i * 4, &value, 4);
      continue;
    }
    const std::int32_t value = value_of(salt, index, i);
    const auto as_float = static_cast<float>(value);
    if (plan.dtype == wire::DType::float32)
      std::memcpy(data.data() + i * 4, &as_float, 4);
    else
      std::memcpy(data.data() + i * 4, &value, 4);
  }
}

std::size_t first_wrong(const OpPlan& plan, std::span<const std::uint64_t> salts,
                        std::uint32_t index, std::span<const std::byte> data) {
  for (std::size_t i = 0; i < plan.count; ++i) {
    if (plan.rounds) {
      if (!within_rounding(read_element<float>(data, i), salts, index, i)) return i;
      continue;
    }
    std::int64_t sum = 0;
    for (const std::uint64_t salt : salts) sum += value_of(salt, index, i);
    const bool right = plan.dtype == wire::DType::float32
                           ? read_element<float>(data, i) == static_cast<float>(sum)
                           : read_element<std::int32_t>(data, i) == static_cast<std::int32_t>(sum);
    if (!right) return i;
  }
  return plan.count;
}

}  // namespace tributary::sim
