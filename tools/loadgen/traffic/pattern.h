// The data of each rank for each chunk, and its sum: known without communication, and without
// adding up the ranks' data.
//
//   element i of rank r = table[offset + i] + salt + weight[r]
//   element i of the sum = ranks × (table[offset + i] + salt) + Σ weight
//
// offset and salt are hashes of (job, op, chunk). So data of another chunk, op or job, a rank that
// is missing and one that is counted twice all give other numbers. All are whole and stay below
// 2^24, so float32 sums are exact in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/isa.h"
#include "core/wire/types.h"
#include "tools/loadgen/traffic/pattern_kernels.h"

namespace tributary::loadgen {

class Pattern {
 public:
  // dtype: int32 or float32. Payloads are of at most `chunk_bytes`.
  Pattern(wire::DType dtype, std::uint32_t job, std::uint32_t ranks, std::size_t chunk_bytes,
          Isa isa = best_isa());

  [[nodiscard]] wire::DType dtype() const { return dtype_; }
  // Returns ones_complement_sum() of what it wrote.
  std::uint16_t write(std::uint32_t op, std::uint32_t chunk, std::uint32_t rank,
                      std::span<std::byte> payload) const;
  // Whether this is, bit for bit, the sum of all ranks.
  [[nodiscard]] bool is_sum(std::uint32_t op, std::uint32_t chunk,
                            std::span<const std::byte> payload) const;

 private:
  struct Place {
    std::size_t offset = 0;
    std::int32_t salt = 0;
  };
  [[nodiscard]] Place place_of(std::uint32_t op, std::uint32_t chunk) const;

  wire::DType dtype_;
  std::uint32_t job_;
  std::uint32_t ranks_;
  std::vector<std::byte> own_;     // the table
  std::vector<std::byte> summed_;  // the table times ranks, plus the sum of all weights
  std::vector<std::int32_t> weights_;
  PatternKernels<float> floats_;
  PatternKernels<std::int32_t> integers_;
};

}  // namespace tributary::loadgen
