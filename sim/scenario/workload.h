// The ops of a job's ranks, their data and the expected results.
//
// Which op comes when follows from the scenario's seed, so that all ranks agree. A rank's data also
// depends on its incarnation: a result that has anything of an earlier one is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/wire/types.h"
#include "sim/scenario/numbers.h"
#include "sim/scenario/scenario.h"

namespace tributary::sim {

// Kinds of values of an op's elements.
enum class Values : std::uint8_t {
  exact,      // reduced without rounding or overflow in any order
  rounding,   // floats whose sum depends on the order
  overflows,  // integers whose sum or product leaves the type's range on the way, and at the end
  wraps,      // the same, where the job wants it modulo 2^bits
  scaled,     // floats as fixed point; the sums of some chunks overflow
  storm,      // the same, of every chunk
  gradients,  // small whole numbers, of which a model's parameters are made
};

// Exponent for scaled ops, whose values are whole numbers: no rounding.
inline constexpr std::int16_t kScaleExponent = 0;

struct OpPlan {
  std::uint32_t count = 0;  // of a part, as in worker::Op
  wire::DType dtype = wire::DType::int32;
  wire::ReduceOp reduce_op = wire::ReduceOp::sum;
  wire::Collective collective = wire::Collective::allreduce;
  std::uint32_t root = 0;
  std::uint16_t array = 0;  // of a model
  Values values = Values::exact;

  [[nodiscard]] bool reduces() const {
    return collective == wire::Collective::allreduce || collective == wire::Collective::reduce ||
           collective == wire::Collective::reduce_scatter || wire::concerns_model(collective);
  }
  [[nodiscard]] bool scales() const { return values == Values::scaled || values == Values::storm; }
  // All ranks get the same.
  [[nodiscard]] bool same_everywhere() const {
    return collective != wire::Collective::reduce && collective != wire::Collective::reduce_scatter;
  }
  // Elements that a rank puts in, and that it gets apart from those (0: in place).
  [[nodiscard]] std::size_t inputs(std::uint32_t ranks) const {
    return collective == wire::Collective::reduce_scatter ? std::size_t{count} * ranks : count;
  }
  [[nodiscard]] std::size_t outputs(std::uint32_t ranks) const {
    if (collective == wire::Collective::all_gather) return std::size_t{count} * ranks;
    return collective == wire::Collective::reduce_scatter ? count : 0;
  }
};

// "reduce of 12 int8 sum"
std::string describe(const OpPlan& plan);
// The plan of op `index`; the same for every rank.
OpPlan plan_op(const JobScenario& job, std::uint64_t seed, std::uint32_t index);

// The value that the incarnation `salt` of a rank puts in at `element` of op `index`.
Bits value_of(const OpPlan& plan, std::uint64_t salt, std::uint32_t index, std::size_t element);
void fill(const OpPlan& plan, std::uint64_t salt, std::uint32_t index, std::span<std::byte> data);

// A rank's buffers after the op.
struct OpResult {
  std::uint32_t rank = 0;
  std::span<const std::byte> data;    // what it put in, or the result in its place
  std::span<const std::byte> output;  // empty where the result is in place
  std::span<const std::uint64_t> left_out =
      {};                                // ranks that it is told are missing, as worker::Op says
  std::uint32_t elements_per_chunk = 1;  // as the op was cut
  std::uint32_t chunks_per_part = 1;

  // The chunk of an element of the whole array, of parts of `count` elements.
  [[nodiscard]] std::uint32_t chunk_of(std::size_t element, std::size_t count) const {
    return static_cast<std::uint32_t>(element / count * chunks_per_part +
                                      element % count / elements_per_chunk);
  }
};
// The ranks that the result of a chunk of the op lacks, as bits; empty: none.
using MissingOf = std::function<std::span<const std::uint64_t>(std::uint32_t chunk)>;
// The mistake in a result, given the ranks' incarnations and the order in which switches combine
// the data where it is declared; nullopt: none. `missing_of` empty: every chunk has all ranks.
std::optional<std::string> wrong_with(const OpPlan& plan, const JobScenario& job,
                                      const config::Bracket& expression,
                                      std::span<const std::uint64_t> salts, std::uint32_t index,
                                      const OpResult& result, const MissingOf& missing_of = {});

}  // namespace tributary::sim
