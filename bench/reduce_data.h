// Data of suite `reduce`: inputs whose results are known exactly, in every type and any order.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "aggregator/kernels/reduce.h"

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
// The sums that `passes` over the inputs must leave in zeroed accumulators.
std::vector<double> reduced(const ReduceCase& c, const Inputs& inputs, std::size_t passes);
// How the payloads of several sources lie in the input, each `payload_bytes` long.
enum class Layout {
  by_chunk,  // a chunk's payloads one after the other, as one receive queue has them
  by_source  // a source's payloads one after the other, as a queue for each has them
};
struct Sources {
  std::size_t count = 1;
  std::size_t payload_bytes = 0;
  Layout layout = Layout::by_chunk;
  [[nodiscard]] std::size_t chunks(std::size_t input_bytes) const {
    return input_bytes / payload_bytes / count;
  }
  // Byte of the input where the payload begins.
  [[nodiscard]] std::size_t at(std::size_t chunk, std::size_t source, std::size_t chunks) const {
    return payload_bytes *
           (layout == Layout::by_chunk ? chunk * count + source : source * chunks + chunk);
  }
};
// The sums that one result of every chunk must leave: results go round the accumulators, so the
// last ones stay.
std::vector<double> fused(const ReduceCase& c, const Inputs& inputs, const Sources& sources);

// The accumulators, or with `wire` elements as workers send them, hold these numbers.
bool holds(const ReduceCase& c, std::span<const std::byte> bytes,
           const std::vector<double>& numbers, bool wire = false);

}  // namespace tributary::bench
