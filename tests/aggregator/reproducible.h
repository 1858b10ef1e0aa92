// Jobs of five ranks whose results' bits show in which order they were made, and what the declared
// order gives, evaluated one element at a time by the scalar reference.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "core/prng.h"
#include "tests/aggregator/engine_fixture.h"
#include "tests/aggregator/reduce_reference.h"

namespace tributary::aggregator::reproducible {

using config::Bracket;
using config::Trigger;
using reference::Bits;
using reference::Case;
using wire::DType;
using wire::PacketType;
using wire::ReduceOp;

inline constexpr std::uint32_t kRanks = 5;
inline constexpr std::uint16_t kElements = 24;
inline constexpr std::uint32_t kWindow = 4;
using Data = std::vector<std::vector<Bits>>;  // by rank

inline Bracket rank(std::uint32_t r) {
  return {{}, r};
}
inline Bracket list(std::vector<Bracket> items) {
  return {std::move(items), 0};
}
inline Bracket by_rank() {
  return list({rank(0), rank(1), rank(2), rank(3), rank(4)});
}

inline std::vector<Case> kinds() {
  std::vector<Case> all;
  for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64})
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::mean})
      all.push_back({dtype, op, Arithmetic::saturating});
  return all;
}

// Data whose sums depend on the order: of each element the ranks have one large number, its
// negative, or small ones, so sums cancel or swallow, and products leave the range.
inline Data data_of(const Case& c, std::uint64_t seed) {
  struct Format {
    int fraction_bits;
    int bias;
    int large;  // exponent
  };
  const Format f = c.dtype == DType::float16    ? Format{10, 15, 14}
                   : c.dtype == DType::bfloat16 ? Format{7, 127, 100}
                   : c.dtype == DType::float32  ? Format{23, 127, 100}
                                                : Format{52, 1023, 800};
  Prng prng(seed);
  const auto number = [&](int exponent) {
    const Bits fraction = prng.next() & ((Bits{1} << f.fraction_bits) - 1);
    return static_cast<Bits>(f.bias + exponent) << f.fraction_bits | fraction;
  };
  const Bits sign = Bits{1} << (8 * wire::size_of(c.dtype) - 1);
  Data data(kRanks, std::vector<Bits>(kElements));
  for (std::uint32_t i = 0; i < kElements; ++i) {
    const Bits large = number(f.large);
    for (auto& of_rank : data) {
      const std::uint32_t which = prng.below(3);
      of_rank[i] = which == 0 ? large : which == 1 ? large | sign : number(-f.large);
    }
  }
  return data;
}

inline std::vector<std::byte> packed(DType dtype, const std::vector<Bits>& values) {
  const std::size_t size = wire::size_of(dtype);
  std::vector<std::byte> bytes(values.size() * size);
  for (std::size_t i = 0; i < values.size(); ++i)
    std::memcpy(bytes.data() + i * size, &values[i], size);
  return bytes;
}

inline Bits value_of(const Case& c, const Bracket& bracket, const Data& data, std::size_t i) {
  if (bracket.items.empty()) return reference::open(c, data[bracket.rank][i]);
  Bits value = value_of(c, bracket.items[0], data, i);
  bool overflow = false;
  for (std::size_t item = 1; item < bracket.items.size(); ++item)
    value = reference::combine(c, value, value_of(c, bracket.items[item], data, i), overflow);
  return value;
}
inline std::vector<std::byte> expected(const Case& c, const Bracket& bracket, const Data& data) {
  std::vector<Bits> result;
  bool overflow = false;
  for (std::size_t i = 0; i < kElements; ++i)
    result.push_back(reference::finish(c, value_of(c, bracket, data, i), kRanks, overflow));
  return packed(c.dtype, result);
}

inline void for_each_arrival(const std::function<void(const std::vector<std::uint32_t>&)>& f) {
  std::vector<std::uint32_t> arrival(kRanks);
  std::iota(arrival.begin(), arrival.end(), 0u);
  do f(arrival);
  while (std::next_permutation(arrival.begin(), arrival.end()));
}

inline config::JobConfig reproducible_job(Trigger trigger) {
  config::JobConfig job = test_job(kRanks, kWindow);
  job.chunk_bytes = kElements * 8;
  job.order = wire::Order::reproducible;
  job.trigger = trigger;
  return job;
}

}  // namespace tributary::aggregator::reproducible
