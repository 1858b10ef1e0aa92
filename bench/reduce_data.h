// Data of suite `reduce`: inputs whose results are known exactly, in every type and any order.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aggregator/reduce.h"

namespace tributary::bench {

// One kernel, and its name in the report.
struct ReduceCase {
  const char* name;
  wire::DType dtype;
  wire::ReduceOp op;
  aggregator::Arithmetic arithmetic = aggregator::Arithmetic::saturating;
  [[nodiscard]] const aggregator::Kernels& kernels() const;
};

enum class Values {
  small,    // below 256: exact in bfloat16, and sums of a whole run in float32
  balanced  // -2 to 2, and no sum of neighbours in time leaves -8 to 8: exact in float16 too
};

// How often each accumulator gets an input is input bytes / (accumulator elements × wire bytes).
struct Inputs {
  std::span<std::byte> bytes;
  std::size_t accumulators = 0;  // elements; element i of the input goes to i modulo this
  Values values = Values::small;
};
void fill(wire::DType dtype, const Inputs& inputs);
// What `passes` over the inputs must leave in zeroed accumulators.
std::vector<double> reduced(const ReduceCase& c, const Inputs& inputs, std::size_t passes);
// What one result of `sources` payloads each, one payload after the other in the input, must
// leave: results go round the accumulators, so the last ones stay.
std::vector<double> fused(const ReduceCase& c, const Inputs& inputs, std::size_t payload_bytes,
                          std::size_t sources);

// The accumulators, or with `wire` elements as workers send them, hold these numbers.
bool holds(const ReduceCase& c, std::span<const std::byte> bytes,
           const std::vector<double>& numbers, bool wire = false);

}  // namespace tributary::bench
