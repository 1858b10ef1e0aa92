#include "bench/reduce_data.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "core/prng.h"

namespace tributary::bench {
namespace {

using wire::DType;
using wire::ReduceOp;

// The inputs' elements in turn.
class Sequence {
 public:
  explicit Sequence(const Inputs& inputs) : inputs_(inputs) {}
  int next() {
    if (inputs_.values == Values::small) return static_cast<int>(prng_.below(256));
    const std::size_t element = at_ % inputs_.accumulators;
    const std::size_t turn = at_++ / inputs_.accumulators;
    return static_cast<int>((2 * turn + element) % 5) - 2;
  }

 private:
  const Inputs& inputs_;
  Prng prng_{1};
  std::size_t at_ = 0;
};

// A whole number of few bits, as float16 or bfloat16.
std::uint16_t small_float(int number, int fraction_bits, int bias) {
  if (number == 0) return 0;
  const int exponent = std::ilogb(number);
  const auto fraction = static_cast<int>(std::ldexp(std::abs(number), fraction_bits - exponent)) -
                        (1 << fraction_bits);
  const int sign = number < 0 ? 0x8000 : 0;
  return static_cast<std::uint16_t>(sign | (exponent + bias) << fraction_bits | fraction);
}
double from_small_float(std::uint16_t bits, int fraction_bits, int bias) {
  const int exponent = (bits & 0x7FFF) >> fraction_bits;
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                    : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

template <typename T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}
template <typename T>
double load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return static_cast<double>(value);
}

void store_number(DType dtype, std::byte* to, int number) {
  switch (dtype) {
    case DType::int32: return store<std::int32_t>(to, number);
    case DType::int64: return store<std::int64_t>(to, number);
    case DType::float16: return store(to, small_float(number, 10, 15));
    case DType::bfloat16: return store(to, small_float(number, 7, 127));
    case DType::float32: return store(to, static_cast<float>(number));
    case DType::float64: return store(to, static_cast<double>(number));
    default: std::abort();
  }
}

double load_number(DType dtype, const std::byte* from) {
  switch (dtype) {
    case DType::int32: return load<std::int32_t>(from);
    case DType::int64: return load<std::int64_t>(from);
    case DType::float32: return load<float>(from);
    case DType::float64: return load<double>(from);
    default: break;
  }
  std::uint16_t bits = 0;
  std::memcpy(&bits, from, sizeof bits);
  return dtype == DType::float16 ? from_small_float(bits, 10, 15) : from_small_float(bits, 7, 127);
}

double combine(ReduceOp op, double a, double b) {
  if (op == ReduceOp::sum) return a + b;
  return op == ReduceOp::min ? std::min(a, b) : std::max(a, b);
}

}  // namespace

const aggregator::Kernels& ReduceCase::kernels() const {
  return *aggregator::find_kernels(dtype, op, arithmetic);
}

void fill(DType dtype, const Inputs& inputs) {
  Sequence sequence(inputs);
  for (std::size_t at = 0; at < inputs.bytes.size(); at += wire::size_of(dtype))
    store_number(dtype, inputs.bytes.data() + at, sequence.next());
}

std::vector<double> reduced(const ReduceCase& c, const Inputs& inputs, std::size_t passes) {
  Sequence sequence(inputs);
  std::vector<double> results(inputs.accumulators, 0);
  const std::size_t count = inputs.bytes.size() / wire::size_of(c.dtype);
  for (std::size_t i = 0; i < count; ++i) {
    double& result = results[i % results.size()];
    result = combine(c.op, result, sequence.next());
  }
  // Another pass changes sums alone.
  if (c.op == ReduceOp::sum)
    for (double& result : results) result *= static_cast<double>(passes);
  return results;
}

std::vector<double> fused(const ReduceCase& c, const Inputs& inputs, const Sources& sources) {
  Sequence sequence(inputs);
  std::vector<double> results(inputs.accumulators, 0);
  const std::size_t elements = sources.payload_bytes / wire::size_of(c.dtype);
  const std::size_t chunks = sources.chunks(inputs.bytes.size());
  const std::size_t stay = results.size() / elements;  // chunks whose results the last round left
  for (std::size_t payload = 0; payload < chunks * sources.count; ++payload) {
    const bool by_chunk = sources.layout == Layout::by_chunk;
    const std::size_t chunk = by_chunk ? payload / sources.count : payload % chunks;
    const std::size_t source = by_chunk ? payload % sources.count : payload / chunks;
    for (std::size_t i = 0; i < elements; ++i) {
      const double value = sequence.next();
      if (chunk + stay < chunks) continue;
      double& result = results[(chunk * elements + i) % results.size()];
      result = source == 0 ? value : combine(c.op, result, value);
    }
  }
  return results;
}

bool holds(const ReduceCase& c, std::span<const std::byte> bytes,
           const std::vector<double>& numbers, bool wire) {
  const aggregator::Kernels& kernels = c.kernels();
  const bool widened = kernels.acc_bytes != kernels.wire_bytes;
  const DType dtype = widened && !wire ? DType::float32 : c.dtype;
  const std::size_t element_bytes = wire::size_of(dtype);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (load_number(dtype, bytes.data() + i * element_bytes) != numbers[i]) return false;
  return true;
}

}  // namespace tributary::bench
