#include "worker/torch/rules.h"

#include <stdexcept>

#include "worker/torch/host_memory.h"

namespace tributary::torch_backend {
namespace {

using wire::Collective;
using wire::DType;
using wire::ReduceOp;

bool reduces(Collective c) {
  return c == Collective::allreduce || c == Collective::reduce || c == Collective::reduce_scatter;
}

// Many versions of Gloo lack bfloat16 and int16, and sum bool as bytes: the switch serves these at
// any size.
bool inner_has(DType dtype, bool reduction) {
  if (dtype == DType::boolean) return !reduction;
  return dtype != DType::bfloat16 && dtype != DType::int16;
}

}  // namespace

DType dtype_of(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Byte: return DType::uint8;
    case c10::ScalarType::Char: return DType::int8;
    case c10::ScalarType::Short: return DType::int16;
    case c10::ScalarType::Int: return DType::int32;
    case c10::ScalarType::Long: return DType::int64;
    case c10::ScalarType::Half: return DType::float16;
    case c10::ScalarType::BFloat16: return DType::bfloat16;
    case c10::ScalarType::Float: return DType::float32;
    case c10::ScalarType::Double: return DType::float64;
    case c10::ScalarType::Bool: return DType::boolean;
    default: return DType::none;
  }
}

std::optional<ReduceOp> reduce_op_of(const c10d::ReduceOp& op, DType dtype) {
  const bool boolean = dtype == DType::boolean;
  std::optional<ReduceOp> found;
  switch (static_cast<c10d::ReduceOp::RedOpType>(op)) {
    case c10d::ReduceOp::SUM: found = boolean ? ReduceOp::logical_or : ReduceOp::sum; break;
    case c10d::ReduceOp::AVG: found = ReduceOp::mean; break;
    case c10d::ReduceOp::PRODUCT: found = boolean ? ReduceOp::logical_and : ReduceOp::prod; break;
    case c10d::ReduceOp::MIN: found = ReduceOp::min; break;
    case c10d::ReduceOp::MAX: found = ReduceOp::max; break;
    case c10d::ReduceOp::BAND: found = ReduceOp::bit_and; break;
    case c10d::ReduceOp::BOR: found = ReduceOp::bit_or; break;
    case c10d::ReduceOp::BXOR: found = ReduceOp::bit_xor; break;
    default: break;
  }
  if (found && wire::why_invalid(dtype, *found) != nullptr) found.reset();
  return found;
}

const char* name_of(const c10d::ReduceOp& op) {
  switch (static_cast<c10d::ReduceOp::RedOpType>(op)) {
    case c10d::ReduceOp::SUM: return "SUM";
    case c10d::ReduceOp::AVG: return "AVG";
    case c10d::ReduceOp::PRODUCT: return "PRODUCT";
    case c10d::ReduceOp::MIN: return "MIN";
    case c10d::ReduceOp::MAX: return "MAX";
    case c10d::ReduceOp::BAND: return "BAND";
    case c10d::ReduceOp::BOR: return "BOR";
    case c10d::ReduceOp::BXOR: return "BXOR";
    case c10d::ReduceOp::PREMUL_SUM: return "PREMUL_SUM";
    default: return "unknown";
  }
}

CallKind kind_of(Collective collective, const std::vector<at::Tensor>& tensors,
                 const c10d::ReduceOp* op, const char* call) {
  CallKind kind;
  kind.collective = collective;
  for (const at::Tensor& tensor : tensors) {
    check_host(tensor, call);
    TORCH_CHECK(tensor.scalar_type() == tensors.front().scalar_type(), "tributary: ", call, " of ",
                tensors.front().scalar_type(), " and ", tensor.scalar_type(),
                " in one call: the tensors must have one type");
    kind.dense_on_one_layout &= tensor.layout() == at::kStrided;
    if (kind.dense_on_one_layout) kind.bytes += tensor.nbytes();
  }
  kind.dtype = dtype_of(tensors.front().scalar_type());
  if (op == nullptr) return kind;
  kind.op = reduce_op_of(*op, kind.dtype);
  kind.op_name = name_of(*op);
  TORCH_CHECK(kind.op || kind.op_name != "AVG" || kind.dtype == DType::none, "tributary: ", call,
              " of ", tensors.front().scalar_type(),
              " with AVG: the mean of integers is none; "
              "use SUM, and divide");
  return kind;
}

Thresholds::Thresholds(
    const std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>& by_name) {
  for (const auto& [name, range] : by_name) {
    std::size_t c = 0;
    while (c <= wire::kCollectiveMax && name != wire::name_of(static_cast<Collective>(c))) ++c;
    if (c > wire::kCollectiveMax)
      throw std::invalid_argument("threshold of '" + name + "': there is no such collective");
    ranges_[c] = {range.first, range.second};
  }
}

Verdict decide(const CallKind& call, std::uint32_t ranks, const Thresholds& thresholds) {
  if (ranks < 2) return {false, "the group has one rank"};
  if (!call.dense_on_one_layout) return {false, "the switch has dense tensors of one size only"};
  if (call.collective != Collective::barrier && call.dtype == DType::none)
    return {false, "the switch does not have this data type"};
  if (reduces(call.collective) && !call.op)
    return {false, "the switch does not have this reduction of this type"};
  // Gloo has no AVG.
  if (!call.inner_can || call.op == ReduceOp::mean ||
      (call.collective != Collective::barrier && !inner_has(call.dtype, reduces(call.collective))))
    return {true, "Gloo does not have it"};
  const ByteRange& range = thresholds.of(call.collective);
  if (range.least == Thresholds::kNever) return {false, "its threshold is 'never'"};
  if (call.bytes < range.least)
    return {false, "below the threshold of " + std::to_string(range.least) + " B"};
  if (call.bytes > range.most)
    return {false, "above the threshold of " + std::to_string(range.most) + " B"};
  return {true, "within its thresholds"};
}

std::optional<DType> scalable(const CallKind& call) {
  if (!reduces(call.collective) || call.op != ReduceOp::sum || !wire::is_float(call.dtype))
    return std::nullopt;
  return call.dtype;
}

std::string describe(const CallKind& call) {
  if (call.collective == Collective::barrier) return "barrier";
  std::string text = wire::name_of(call.collective);
  text += " of " + std::to_string(call.bytes) + " B";
  if (call.dtype != DType::none) text += std::string(" ") + wire::name_of(call.dtype);
  if (!call.op_name.empty()) text += " (" + call.op_name + ")";
  return text;
}

}  // namespace tributary::torch_backend
