#include "worker/api/outcome.h"

#include <stdexcept>
#include <string>

#include "aggregator/kernels/small_float.h"

namespace tributary {
namespace {

using aggregator::kernels::BFloat16;
using aggregator::kernels::Float16;

template <typename T>
void divide_all(void* data, const Outcome::Part& part) {
  T* const values = static_cast<T*>(data) + part.begin;
  for (std::size_t i = 0; i < part.count; ++i) values[i] /= static_cast<T>(part.counted);
}

template <typename Format>
void divide_small(void* data, const Outcome::Part& part) {
  auto* const values = static_cast<std::uint16_t*>(data) + part.begin;
  for (std::size_t i = 0; i < part.count; ++i)
    values[i] = Format::narrow(Format::widen(values[i]) / static_cast<float>(part.counted));
}

// The product is exact for 16- and 32-bit floats, so that only the quotient is rounded.
template <typename T>
void scale_all(void* data, const Outcome::Part& part, double ranks) {
  T* const values = static_cast<T*>(data) + part.begin;
  for (std::size_t i = 0; i < part.count; ++i)
    values[i] = static_cast<T>(static_cast<double>(values[i]) * ranks / part.counted);
}

template <typename Format>
void scale_small(void* data, const Outcome::Part& part, float ranks) {
  auto* const values = static_cast<std::uint16_t*>(data) + part.begin;
  for (std::size_t i = 0; i < part.count; ++i)
    values[i] = Format::narrow(Format::widen(values[i]) * ranks / static_cast<float>(part.counted));
}

void require_float(wire::DType dtype) {
  if (!wire::is_float(dtype))
    throw std::invalid_argument(std::string("the mean of ") + wire::name_of(dtype) +
                                " is none; allowed are float16, bfloat16, float32 and float64");
}

}  // namespace

void Outcome::divide(void* data, wire::DType dtype) const {
  require_float(dtype);
  for (const Part& part : parts) {
    if (part.counted < 2) continue;
    switch (dtype) {
      case wire::DType::float16: divide_small<Float16>(data, part); break;
      case wire::DType::bfloat16: divide_small<BFloat16>(data, part); break;
      case wire::DType::float64: divide_all<double>(data, part); break;
      default: divide_all<float>(data, part);
    }
  }
}

void Outcome::scale(void* data, wire::DType dtype, std::uint32_t ranks) const {
  require_float(dtype);
  for (const Part& part : parts) {
    if (part.counted == ranks || part.counted == 0) continue;
    switch (dtype) {
      case wire::DType::float16: scale_small<Float16>(data, part, static_cast<float>(ranks)); break;
      case wire::DType::bfloat16:
        scale_small<BFloat16>(data, part, static_cast<float>(ranks));
        break;
      case wire::DType::float64: scale_all<double>(data, part, ranks); break;
      default: scale_all<float>(data, part, ranks);
    }
  }
}

namespace worker {

std::size_t elements_got(const CollectiveCall& call, std::uint32_t rank, std::uint32_t ranks) {
  switch (call.collective) {
    case wire::Collective::barrier: return 0;
    case wire::Collective::reduce: return rank == call.root ? call.count : 0;
    case wire::Collective::all_gather: return call.count * ranks;
    default: return call.count;
  }
}

std::vector<Outcome::Part> cover(std::span<const Outcome::Part> lacking, std::size_t elements,
                                 std::uint32_t ranks) {
  std::vector<Outcome::Part> parts;
  std::size_t next = 0;
  const auto add = [&](std::size_t end, std::uint32_t counted) {
    if (end == next) return;
    if (!parts.empty() && parts.back().counted == counted)
      parts.back().count += end - next;
    else
      parts.push_back({next, end - next, counted});
    next = end;
  };
  for (const Outcome::Part& part : lacking) {
    add(part.begin, ranks);
    add(part.begin + part.count, part.counted);
  }
  add(elements, ranks);
  return parts;
}

}  // namespace worker
}  // namespace tributary
