#include "sim/scenario/workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/prng.h"

namespace tributary::sim {
namespace {

using wire::Collective;
using wire::DType;
using wire::ReduceOp;

// With more ranks than this, sums of small types would not be exact any more.
constexpr std::uint32_t kMostRanksOfSmallTypes = 15;

constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

Bits read_bits(std::span<const std::byte> data, DType dtype, std::size_t i) {
  const std::size_t size = wire::size_of(dtype);
  Bits bits = 0;
  std::memcpy(&bits, data.data() + i * size, size);  // little endian, as on the wire
  return bits;
}

bool is_sum(ReduceOp op) {
  return op == ReduceOp::sum || op == ReduceOp::mean;
}

Collective draw_collective(Prng& random) {
  constexpr std::array kMix = {Collective::allreduce,  Collective::allreduce,
                               Collective::allreduce,  Collective::allreduce,
                               Collective::reduce,     Collective::reduce_scatter,
                               Collective::all_gather, Collective::broadcast};
  return kMix[random.below(kMix.size())];
}

// A mean of narrow partials would be rounded twice.
bool admitted(const JobScenario& job, const OpPlan& plan) {
  const bool half = wire::is_float(plan.dtype) && wire::size_of(plan.dtype) == 2;
  return wire::why_invalid(plan.dtype, plan.reduce_op) == nullptr &&
         !(half && plan.reduce_op == ReduceOp::mean && job.sums.partials == wire::Partials::narrow);
}

void draw_reduction(Prng& random, const JobScenario& job, OpPlan& plan) {
  const std::size_t least = job.workers > kMostRanksOfSmallTypes ? 4 : 1;
  do {
    plan.dtype = static_cast<DType>(1 + random.below(wire::kDTypeMax));
    plan.reduce_op = random.below(3) == 0
                         ? static_cast<ReduceOp>(1 + random.below(wire::kReduceOpMax))
                         : ReduceOp::sum;
  } while (!admitted(job, plan) || wire::size_of(plan.dtype) < least);
}

void draw_values(Prng& random, const JobScenario& job, OpPlan& plan) {
  if (!plan.reduces()) return;
  const std::uint32_t kind = random.below(8);
  if (wire::is_float(plan.dtype) && is_sum(plan.reduce_op)) {
    // A mean divides, which rounds.
    if (kind < 4 || plan.reduce_op == ReduceOp::mean) plan.values = Values::rounding;
    // A modular sum shows no overflow, and workers do not scale there.
    if (kind >= 2 && plan.dtype == DType::float32 && plan.reduce_op == ReduceOp::sum &&
        plan.collective == Collective::allreduce &&
        job.sums.arithmetic == wire::Arithmetic::saturating)
      plan.values = kind == 7 ? Values::storm : Values::scaled;
  } else if (wire::is_integer(plan.dtype) &&
             (plan.reduce_op == ReduceOp::sum || plan.reduce_op == ReduceOp::prod)) {
    if (job.sums.arithmetic == wire::Arithmetic::modular)
      plan.values = Values::wraps;
    else if (kind == 0 && job.workers > 1)
      plan.values = Values::overflows;
  }
}

void draw_count(Prng& random, const JobScenario& job, OpPlan& plan) {
  const std::uint32_t per_chunk =
      std::max(1u, wire::elements_per_chunk(job.carried_chunk_bytes(), plan.dtype, plan.reduce_op,
                                            job.sums.partials, plan.reduces()));
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
  const bool parts =
      plan.collective == Collective::all_gather || plan.collective == Collective::reduce_scatter;
  if (parts) plan.count = (plan.count + job.workers - 1) / job.workers;
}

// Small enough that no type in use rounds or overflows, whatever the order.
std::int64_t small_value(const OpPlan& plan, std::uint64_t z) {
  const bool with_sign = wire::is_float(plan.dtype) || plan.dtype <= DType::int64;
  const std::size_t size = wire::size_of(plan.dtype);
  if (plan.reduce_op == ReduceOp::prod) {
    if (with_sign) return (z & 1) != 0 ? -1 : 1;
    return static_cast<std::int64_t>(z & 1);
  }
  if (plan.dtype == DType::boolean) return static_cast<std::int64_t>(z & 1);
  const std::int64_t range = size == 1 || (wire::is_float(plan.dtype) && size == 2) ? 16 : 1 << 10;
  const std::int64_t wide = size >= 4 ? 1 << 16 : range;
  const auto value = static_cast<std::int64_t>(z & static_cast<std::uint64_t>(wide - 1));
  return with_sign ? value - wide / 2 : value;
}

// Every rank near the end of the range, on the same side of it.
Bits extreme_value(const OpPlan& plan, std::uint64_t z, std::size_t element) {
  const std::size_t width = wire::size_of(plan.dtype) * 8;
  const bool with_sign = plan.dtype <= DType::int64;
  const Bits top = with_sign     ? (Bits{1} << (width - 1)) - 1
                   : width == 64 ? ~Bits{0}
                                 : (Bits{1} << width) - 1;
  const bool negative = with_sign && plan.reduce_op == ReduceOp::sum && element % 2 == 1;
  const Bits value = top - (z & 7);
  return bits_of(plan.dtype, static_cast<std::int64_t>(negative ? ~value : value));
}

// Whole numbers that a float32 has, and of some elements ones that fixed point has no room for: in
// the sum, or in one of them already.
double scaled_value(const OpPlan& plan, std::uint64_t z, std::uint32_t index, std::size_t element) {
  const double sign = (z >> 62 & 1) != 0 && plan.values == Values::scaled ? -1 : 1;
  const bool large = plan.values == Values::storm || (element / 5 + index) % 3 == 0;
  if (!large) return sign * static_cast<double>(z & 0xFFFFF);
  const double value = static_cast<double>((std::uint64_t{1} << 30) + (z & 0x3FFFFF) * 256);
  return sign * (z >> 58 & 15 ? value : value * 16);
}

// All digits that the type has, of either sign, over sixteen powers of two; fewer for 16 bits.
double rounding_value(DType dtype, std::uint64_t z) {
  const std::int64_t top = std::int64_t{1} << (dtype == DType::float64 ? 52 : 23);
  const std::int64_t mantissa = static_cast<std::int64_t>(z) % top;
  const bool half = wire::size_of(dtype) == 2;
  const int scale = static_cast<int>(z >> 60) - 24;
  return std::ldexp(static_cast<double>(mantissa | 1), half ? scale / 4 - 18 : scale);
}

// A bracket's value before it is finished: items from left to right. Narrow partials are rounded
// to the elements' type where they leave a bracket.
Bits evaluate(const OpPlan& plan, const config::Bracket& bracket, wire::Partials partials,
              std::span<const Bits> values) {
  const auto item = [&](const config::Bracket& b) {
    const Bits bits = evaluate(plan, b, partials, values);
    if (b.items.empty() || partials == wire::Partials::wide) return bits;
    return open(plan.dtype, plan.reduce_op, finish(plan.dtype, plan.reduce_op, bits, 1));
  };
  if (bracket.items.empty()) return open(plan.dtype, plan.reduce_op, values[bracket.rank]);
  Bits accumulated = item(bracket.items.front());
  for (std::size_t i = 1; i < bracket.items.size(); ++i)
    accumulated = combine(plan.dtype, plan.reduce_op, accumulated, item(bracket.items[i]));
  return accumulated;
}

std::string at(std::size_t element, const char* what) {
  return "element " + std::to_string(element) + " " + what;
}

class Judge {
 public:
  Judge(const OpPlan& plan, const JobScenario& job, const config::Bracket& expression,
        std::span<const std::uint64_t> salts, std::uint32_t index, const OpResult& result,
        const MissingOf& missing_of)
      : plan_(plan),
        job_(job),
        expression_(expression),
        salts_(salts),
        index_(index),
        result_(result),
        missing_of_(missing_of) {}

  // `count` results in `data`, of the elements from `first` on.
  std::optional<std::string> reduced(std::span<const std::byte> data, std::size_t first) {
    for (std::size_t i = 0; i < plan_.count; ++i) {
      take_values(first + i);
      if (plan_.values == Values::overflows && values_.size() > 1)
        return at(first + i, "overflowed, and was delivered");
      const Bits got = read_bits(data, plan_.dtype, i);
      if (plan_.scales() && is_fixed_point_sum(got)) continue;
      const bool any_order = (plan_.values == Values::rounding || plan_.scales()) &&
                             job_.sums.order == wire::Order::fast;
      if (any_order
              ? !within_rounding(plan_.dtype, plan_.reduce_op, job_.sums.partials, got, values_)
              : got != expected())
        return at(first + i,
                  any_order ? "is off by more than rounding explains" : "is not the exact result");
    }
    return std::nullopt;
  }
  // `count` elements that came from one rank unchanged.
  std::optional<std::string> copied(std::span<const std::byte> data, std::size_t count,
                                    std::uint64_t salt, const char* what) const {
    for (std::size_t i = 0; i < count; ++i)
      if (read_bits(data, plan_.dtype, i) != value_of(plan_, salt, index_, i)) return at(i, what);
    return std::nullopt;
  }

 private:
  // Exact where nothing overflows, which may depend on the order of arrival; then it is a float.
  [[nodiscard]] bool is_fixed_point_sum(Bits got) const {
    double sum = 0;
    for (const Bits value : values_) {
      const double v = as_double(plan_.dtype, value);
      if (std::fabs(v) > std::numeric_limits<std::int32_t>::max()) return false;
      sum += v;
    }
    return std::fabs(sum) <= std::numeric_limits<std::int32_t>::max() &&
           got == bits_of(plan_.dtype, static_cast<double>(static_cast<float>(sum)));
  }

  // The values of the ranks that the result has.
  void take_values(std::size_t element) {
    const auto missing = missing_of_ ? missing_of_(result_.chunk_of(element, plan_.count))
                                     : std::span<const std::uint64_t>();
    values_.clear();
    for (std::size_t r = 0; r < salts_.size(); ++r)
      if (missing.empty() || (missing[r / 64] >> (r % 64) & 1) == 0)
        values_.push_back(value_of(plan_, salts_[r], index_, element));
  }

  // In the declared order; of values that do not round any order will do.
  [[nodiscard]] Bits expected() const {
    if (values_.size() < salts_.size()) return reduce(plan_.dtype, plan_.reduce_op, values_);
    return finish(plan_.dtype, plan_.reduce_op,
                  evaluate(plan_, expression_, job_.sums.partials, values_), values_.size());
  }

  const OpPlan& plan_;
  const JobScenario& job_;
  const config::Bracket& expression_;
  std::span<const std::uint64_t> salts_;
  std::uint32_t index_;
  const OpResult& result_;
  const MissingOf& missing_of_;
  std::vector<Bits> values_;
};

}  // namespace

namespace {

// Its step is asked for, then it is opened, then updated.
OpPlan plan_model_op(const JobScenario& job, std::uint32_t index) {
  OpPlan plan;
  plan.collective = index < 2 ? Collective::open : Collective::update;
  plan.values = Values::gradients;
  if (index == 0) {
    plan.dtype = DType::uint32;
    plan.array = wire::kModelStep;
    plan.count = 1;
  } else {
    plan.dtype = DType::float32;
    plan.count = std::max(job.max_elements, 1u);
  }
  return plan;
}

}  // namespace

OpPlan plan_op(const JobScenario& job, std::uint64_t seed, std::uint32_t index) {
  Prng random(mix(seed ^ job.id) + index);
  OpPlan plan;
  if (job.op_bytes > 0) {
    plan.count = static_cast<std::uint32_t>(job.op_bytes / job.payload_scale() / 4);
    return plan;
  }
  if (job.overflow_storm) {
    plan.dtype = DType::float32;
    plan.values = Values::storm;
    draw_count(random, job, plan);
    return plan;
  }
  if (job.model && (index < 2 || random.below(2) == 0)) return plan_model_op(job, index);
  if (random.below(8) == 0) {
    plan.dtype = DType::none;
    plan.collective = Collective::barrier;
    return plan;
  }
  plan.collective = draw_collective(random);
  draw_reduction(random, job, plan);
  plan.root = random.below(job.workers);
  draw_values(random, job, plan);
  draw_count(random, job, plan);
  return plan;
}

std::string describe(const OpPlan& plan) {
  std::string text = wire::name_of(plan.collective);
  if (plan.dtype == DType::none) return text;
  text.append(" of ").append(std::to_string(plan.count)).append(" ");
  text.append(wire::name_of(plan.dtype));
  if (plan.reduces()) text.append(" ").append(wire::name_of(plan.reduce_op));
  return plan.scales() ? text.append(" as fixed point") : text;
}

Bits value_of(const OpPlan& plan, std::uint64_t salt, std::uint32_t index, std::size_t element) {
  const std::uint64_t z = mix(salt + (std::uint64_t{index} << 32) + element);
  switch (plan.values) {
    case Values::rounding: return bits_of(plan.dtype, rounding_value(plan.dtype, z));
    case Values::scaled:
    case Values::storm: return bits_of(plan.dtype, scaled_value(plan, z, index, element));
    case Values::overflows: return extreme_value(plan, z, element);
    case Values::wraps: return bits_of(plan.dtype, static_cast<std::int64_t>(z));
    case Values::gradients:
      return bits_of(plan.dtype,
                     static_cast<std::int64_t>(z & 15) - (plan.dtype == DType::float32 ? 8 : 0));
    case Values::exact: break;
  }
  return bits_of(plan.dtype, small_value(plan, z));
}

void fill(const OpPlan& plan, std::uint64_t salt, std::uint32_t index, std::span<std::byte> data) {
  const std::size_t size = wire::size_of(plan.dtype);
  if (size == 0) return;
  for (std::size_t i = 0; (i + 1) * size <= data.size(); ++i) {
    const Bits bits = value_of(plan, salt, index, i);
    std::memcpy(data.data() + i * size, &bits, size);
  }
}

std::optional<std::string> wrong_with(const OpPlan& plan, const JobScenario& job,
                                      const config::Bracket& expression,
                                      std::span<const std::uint64_t> salts, std::uint32_t index,
                                      const OpResult& result, const MissingOf& missing_of) {
  if (plan.count == 0) return std::nullopt;
  // A single rank's number is in range.
  if (plan.reduces() && plan.values == Values::overflows && result.left_out.empty())
    return "the sum overflowed, and was delivered";
  Judge judge(plan, job, expression, salts, index, result, missing_of);
  const std::uint64_t own = salts[result.rank];
  const std::size_t part = std::size_t{plan.count} * wire::size_of(plan.dtype);
  switch (plan.collective) {
    case Collective::allreduce: return judge.reduced(result.data, 0);
    case Collective::reduce:
      if (result.rank == plan.root) return judge.reduced(result.data, 0);
      return judge.copied(result.data, plan.count, own,
                          "was changed, but the rank is not the root");
    case Collective::reduce_scatter:
      if (auto wrong =
              judge.copied(result.data, plan.inputs(job.workers), own, "of the input changed"))
        return wrong;
      return judge.reduced(result.output, std::size_t{result.rank} * plan.count);
    case Collective::broadcast:
      return judge.copied(result.data, plan.count, salts[plan.root], "is not the root's");
    case Collective::all_gather:
      for (std::size_t r = 0; r < salts.size(); ++r)
        if (auto wrong = judge.copied(result.output.subspan(r * part, part), plan.count, salts[r],
                                      "of a part is not its rank's"))
          return wrong;
      return judge.copied(result.data, plan.count, own, "of the input changed");
    case Collective::open:
    case Collective::update:  // ModelChecker's
    case Collective::barrier: break;
  }
  return std::nullopt;
}

}  // namespace tributary::sim
