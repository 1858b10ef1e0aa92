// What the ranks of a job compute, and what must come out.
//
// Which op comes when follows from the scenario's seed, so that all ranks agree. What a rank puts
// in also depends on its incarnation: a sum that took in anything of an earlier one is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/wire/types.h"
#include "tests/sim/scenario.h"

namespace tributary::sim {

struct OpPlan {
  std::uint32_t count = 0;
  wire::DType dtype = wire::DType::int32;
  wire::Collective collective = wire::Collective::allreduce;
  // Floats whose sum rounds, and so depends on the order: checked within the error that any order
  // may make. All other values are integers that are summed exactly.
  bool rounds = false;
};

// The plan of op `index`; the same for every rank.
OpPlan plan_op(const JobScenario& job, std::uint64_t seed, std::uint32_t index);

// What the incarnation `salt` of a rank contributes to element `element` of op `index`: an
// integer that float32 sums of any order represent exactly.
std::int32_t value_of(std::uint64_t salt, std::uint32_t index, std::size_t element);

void fill(const OpPlan& plan, std::uint64_t salt, std::uint32_t index, std::span<std::byte> data);
// The same for an op that rounds: of either sign, over sixteen powers of two.
float rounding_value_of(std::uint64_t salt, std::uint32_t index, std::size_t element);
// First element that is not the sum over `salts`, exactly or within what rounding explains;
// plan.count when all are.
std::size_t first_wrong(const OpPlan& plan, std::span<const std::uint64_t> salts,
                        std::uint32_t index, std::span<const std::byte> data);

}  // namespace tributary::sim
