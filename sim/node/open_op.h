// An op that a rank has called: what the library is given for it, and the buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/scenario/workload.h"
#include "worker/session/block_scaled.h"
#include "worker/session/session.h"

namespace tributary::sim {

struct OpenOp {
  // The buffers hold the data of this rank's incarnation `salt`.
  OpenOp(const OpPlan& op_plan, std::uint32_t op_index, std::uint32_t rank, std::uint32_t ranks,
         std::uint64_t salt, const wire::StartInfo& start);

  worker::Op op;
  OpPlan plan;
  std::uint32_t index = 0;
  std::vector<std::byte> data;
  std::vector<std::byte> output;
  std::unique_ptr<worker::BlockScaled> scaled;
};

// An op that no node can take for `plan`.
OpPlan another_op(const OpPlan& plan);

}  // namespace tributary::sim
