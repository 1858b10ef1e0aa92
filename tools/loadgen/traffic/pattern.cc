#include "tools/loadgen/traffic/pattern.h"

#include <cstring>

#include "core/prng.h"

namespace tributary::loadgen {
namespace {

constexpr std::size_t kOffsets = 509;  // a prime: no power of two of chunks repeats
constexpr std::uint32_t kLargest =
    4096;  // of table, salt and weight: 1,024 ranks × 3 × 4,096 < 2^24
constexpr std::uint64_t kSeed = 0x7472696275746172;

template <typename T>
void store(std::vector<std::byte>& table, std::size_t i, std::int64_t number) {
  const T value = static_cast<T>(number);
  std::memcpy(table.data() + i * sizeof value, &value, sizeof value);
}

}  // namespace

Pattern::Pattern(wire::DType dtype, std::uint32_t job, std::uint32_t ranks, std::size_t chunk_bytes,
                 Isa isa)
    : dtype_(dtype),
      job_(job),
      ranks_(ranks),
      floats_(pattern_kernels<float>(isa)),
      integers_(pattern_kernels<std::int32_t>(isa)) {
  Prng random(kSeed ^ job);
  std::int64_t weights = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    weights_.push_back(static_cast<std::int32_t>(random.below(kLargest)));
    weights += weights_.back();
  }
  const std::size_t elements = chunk_bytes / wire::size_of(dtype) + kOffsets;
  own_.resize(elements * wire::size_of(dtype));
  summed_.resize(own_.size());
  for (std::size_t i = 0; i < elements; ++i) {
    const std::int64_t number = random.below(kLargest);
    const std::int64_t sum = number * ranks + weights;
    if (dtype == wire::DType::float32) {
      store<float>(own_, i, number);
      store<float>(summed_, i, sum);
    } else {
      store<std::int32_t>(own_, i, number);
      store<std::int32_t>(summed_, i, sum);
    }
  }
}

Pattern::Place Pattern::place_of(std::uint32_t op, std::uint32_t chunk) const {
  const std::uint64_t hash =
      split_mix((std::uint64_t{op} << 32 | chunk) + (job_ + 1) * kSplitMixStep);
  return {static_cast<std::size_t>((hash >> 32) % kOffsets) * sizeof(std::int32_t),
          static_cast<std::int32_t>(hash % kLargest)};
}

std::uint16_t Pattern::write(std::uint32_t op, std::uint32_t chunk, std::uint32_t rank,
                             std::span<std::byte> payload) const {
  const Place place = place_of(op, chunk);
  const std::int32_t addend = place.salt + weights_[rank];
  if (dtype_ == wire::DType::float32)
    return floats_.write(own_.data() + place.offset, static_cast<float>(addend), payload);
  return integers_.write(own_.data() + place.offset, addend, payload);
}

bool Pattern::is_sum(std::uint32_t op, std::uint32_t chunk,
                     std::span<const std::byte> payload) const {
  const Place place = place_of(op, chunk);
  const auto addend = static_cast<std::int32_t>(place.salt * static_cast<std::int64_t>(ranks_));
  if (dtype_ == wire::DType::float32)
    return floats_.equals(summed_.data() + place.offset, static_cast<float>(addend), payload);
  return integers_.equals(summed_.data() + place.offset, addend, payload);
}

}  // namespace tributary::loadgen
