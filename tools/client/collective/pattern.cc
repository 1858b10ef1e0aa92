// Filling and checking generated data.
#include "tools/client/collective/pattern.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

namespace tributary::client {
namespace {

using wire::DType;
using wire::ReduceOp;

// 2^k with every whole number up to it exact in the type.
std::int64_t largest_exact(DType dtype) {
  switch (dtype) {
    case DType::boolean: return 1;
    case DType::int8: return 127;
    case DType::uint8: return 255;
    case DType::bfloat16: return 256;
    case DType::float16: return 2048;
    case DType::int16: return 32767;
    default: return 1 << 24;
  }
}

std::uint64_t hash_of(std::uint64_t index, std::uint64_t round) {
  const std::uint64_t hash = (index + (round << 40)) * 0x9E3779B97F4A7C15ULL;
  return (hash ^ hash << 31) >> 32;
}

std::int64_t combine(ReduceOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::mean: return a + b;
    case ReduceOp::prod: return a * b;
    case ReduceOp::min: return std::min(a, b);
    case ReduceOp::max: return std::max(a, b);
    case ReduceOp::bit_and: return a & b;
    case ReduceOp::bit_or: return a | b;
    case ReduceOp::bit_xor: return a ^ b;
    case ReduceOp::logical_and: return a != 0 && b != 0 ? 1 : 0;
    case ReduceOp::logical_or: return a != 0 || b != 0 ? 1 : 0;
    case ReduceOp::logical_xor: return (a != 0) != (b != 0) ? 1 : 0;
  }
  return 0;
}

// IEEE 754 binary16 of a whole number up to 2048.
std::uint16_t half_of(std::int64_t value) {
  if (value == 0) return 0;
  const auto v = static_cast<std::uint32_t>(value);
  const int exponent = std::bit_width(v) - 1;
  const std::uint32_t fraction = exponent <= 10 ? v << (10 - exponent) : v >> (exponent - 10);
  return static_cast<std::uint16_t>((exponent + 15) << 10 | (fraction & 0x3FF));
}
std::uint16_t bfloat_of(std::int64_t value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}

// Calls `use` with a function from a value to an element.
template <typename Use>
auto with_encoder(DType dtype, Use use) {
  const auto as = [&]<typename T>(T) {
    return use([](std::int64_t v) { return static_cast<T>(v); });
  };
  switch (dtype) {
    case DType::int8: return as(std::int8_t{});
    case DType::int16: return as(std::int16_t{});
    case DType::int32: return as(std::int32_t{});
    case DType::int64: return as(std::int64_t{});
    case DType::uint8:
    case DType::boolean: return as(std::uint8_t{});
    case DType::uint32: return as(std::uint32_t{});
    case DType::uint64: return as(std::uint64_t{});
    case DType::float16: return use(half_of);
    case DType::bfloat16: return use(bfloat_of);
    case DType::float32: return as(float{});
    case DType::float64:
    case DType::none: break;
  }
  return as(double{});
}

// As bytes: they need not be aligned for the element.
template <typename Value>
std::uint64_t count_different(DType dtype, std::span<const std::byte> data, Value value) {
  return with_encoder(dtype, [&](auto encode) {
    using T = decltype(encode(std::int64_t{}));
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < data.size() / sizeof(T); ++i) {
      const T expected = encode(value(i));
      const auto bytes = std::as_bytes(std::span(&expected, 1));
      wrong += std::ranges::equal(bytes, data.subspan(i * sizeof(T), sizeof(T))) ? 0 : 1;
    }
    return wrong;
  });
}

}  // namespace

Pattern::Pattern(DType dtype, ReduceOp op, std::uint32_t ranks)
    : dtype_(dtype), op_(op), ranks_(ranks), values_(128) {
  if (const char* why = wire::why_invalid(dtype, op))
    throw std::invalid_argument(std::string(wire::name_of(dtype)) + " with " + wire::name_of(op) +
                                ": " + why);
  const bool adds = op == ReduceOp::sum;
  const std::int64_t most = largest_exact(dtype) / (adds ? std::int64_t{ranks} : 1);
  values_ = std::clamp<std::int64_t>(most + 1, 1, 128);
  if (op == ReduceOp::mean) values_ = 64;  // ranks differ by one
}

std::int64_t Pattern::value(std::uint32_t rank, std::uint64_t index, std::uint64_t round) const {
  const std::uint64_t hash = hash_of(index, round);
  // One rank alone has a factor.
  if (op_ == ReduceOp::prod)
    return hash % ranks_ == rank ? 2 + static_cast<std::int64_t>(hash >> 31 & 1) : 1;
  if (op_ == ReduceOp::mean) {
    // One more and one less by turns, so that the mean is a whole number.
    const std::int64_t base = 1 + static_cast<std::int64_t>(hash >> 8) % values_;
    if (rank == ranks_ - 1 && rank % 2 == 0) return base;
    return rank % 2 == 0 ? base + 1 : base - 1;
  }
  return static_cast<std::int64_t>(((hash >> 8) + 5 * std::uint64_t{rank}) %
                                   static_cast<std::uint64_t>(values_));
}

std::int64_t Pattern::result(std::uint64_t index, std::uint64_t round) const {
  std::int64_t all = value(0, index, round);
  for (std::uint32_t rank = 1; rank < ranks_; ++rank)
    all = combine(op_, all, value(rank, index, round));
  if (op_ == ReduceOp::mean) all /= ranks_;
  // A single rank's data goes through no operation but is made 0 or 1 all the same.
  const bool logical =
      op_ == ReduceOp::logical_and || op_ == ReduceOp::logical_or || op_ == ReduceOp::logical_xor;
  return logical ? (all != 0 ? 1 : 0) : all;
}

void Pattern::fill(std::span<std::byte> data, std::uint32_t rank, std::uint64_t round,
                   std::uint64_t first) const {
  with_encoder(dtype_, [&](auto encode) {
    using T = decltype(encode(std::int64_t{}));
    for (std::size_t i = 0; i < data.size() / sizeof(T); ++i) {
      const T element = encode(value(rank, first + i, round));
      std::memcpy(data.data() + i * sizeof(T), &element, sizeof(T));
    }
    return 0;
  });
}

std::uint64_t Pattern::count_wrong(std::span<const std::byte> data, std::uint64_t round,
                                   std::uint64_t first) const {
  return count_different(dtype_, data, [&](std::size_t i) { return result(first + i, round); });
}

std::uint64_t Pattern::count_wrong_of(std::uint32_t rank, std::span<const std::byte> data,
                                      std::uint64_t round, std::uint64_t first) const {
  return count_different(dtype_, data,
                         [&](std::size_t i) { return value(rank, first + i, round); });
}

}  // namespace tributary::client
