#include "sim/node/open_op.h"

#include <algorithm>
#include <span>

namespace tributary::sim {

OpenOp::OpenOp(const OpPlan& op_plan, std::uint32_t op_index, std::uint32_t rank,
               std::uint32_t ranks, std::uint64_t salt, const wire::StartInfo& start)
    : plan(op_plan), index(op_index) {
  const std::size_t size = wire::size_of(plan.dtype);
  data.resize(plan.inputs(ranks) * size);
  output.resize(plan.outputs(ranks) * size);
  fill(plan, salt, index, data);
  // As the library does: first values are one rank's.
  if (plan.collective == wire::Collective::open && plan.root != rank)
    std::fill(data.begin(), data.end(), std::byte{0});
  op.data = data.data();
  op.output = output.data();
  op.count = plan.count;
  op.dtype = plan.dtype;
  op.reduce_op = plan.reduce_op;
  op.collective = plan.collective;
  op.root = plan.root;
  op.array = plan.array;
  if (!plan.scales()) return;
  op.dtype = wire::DType::int32;
  op.cut(rank, ranks, start);
  const std::span values(reinterpret_cast<float*>(data.data()), plan.count);
  scaled =
      std::make_unique<worker::BlockScaled>(values, ranks, op.elements_per_chunk, kScaleExponent);
  op.scaled = scaled.get();
}

OpPlan another_op(const OpPlan& plan) {
  OpPlan other;
  other.count = plan.count + 1;
  return other;
}

}  // namespace tributary::sim
