// Decides which calls the switch serves and which the inner group (Gloo): a pure function of values
// that are equal on every rank of the group. Ranks that decided differently would wait for each
// other for ever, so no other property (device, layout in memory, load, time) may be used.
//
//   the call            collective, data type, reduction, total bytes, whether the inner group can
//   the group           size; thresholds, which the group's rank 0 chooses for all
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/wire/types.h"
#include "worker/torch/version.h"

namespace tributary::torch_backend {

// Maps PyTorch's types to the switch's; none: the switch does not have it.
wire::DType dtype_of(c10::ScalarType type);
// nullopt if the switch does not have this reduction, or not for this type. Sums and products of
// bool are "or" and "and".
std::optional<wire::ReduceOp> reduce_op_of(const c10d::ReduceOp& op, wire::DType dtype);
const char* name_of(const c10d::ReduceOp& op);

struct CallKind {
  wire::Collective collective = wire::Collective::allreduce;
  wire::DType dtype = wire::DType::none;
  std::optional<wire::ReduceOp> op = wire::ReduceOp::sum;
  std::string op_name = {};  // PyTorch's name, for reductions
  std::uint64_t bytes = 0;   // of the whole result that a rank gets, or of a reduction's input
  bool inner_can = true;     // whether the inner group has this collective
  bool dense_on_one_layout = true;  // false: sparse, or sizes that differ by rank
};

// For tensors in host memory, together. `op`: for reductions. `call`: the user's call. Throws
// c10::Error for a tensor on a device and for different types.
CallKind kind_of(wire::Collective collective, const std::vector<at::Tensor>& tensors,
                 const c10d::ReduceOp* op, const char* call);

// The range of bytes in which the switch is faster, by collective; a barrier has 0 bytes.
struct ByteRange {
  std::uint64_t least = 0;
  std::uint64_t most = UINT64_MAX;  // included
};
class Thresholds {
 public:
  static constexpr std::uint64_t kNever = UINT64_MAX;  // as the least
  Thresholds() = default;
  // {least, most} by wire::name_of(Collective). Throws std::invalid_argument for an unknown
  // name.
  explicit Thresholds(
      const std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>& by_name);
  [[nodiscard]] const ByteRange& of(wire::Collective c) const {
    return ranges_[static_cast<std::size_t>(c)];
  }

 private:
  std::array<ByteRange, wire::kCollectiveMax + 1> ranges_{};
};

struct Verdict {
  bool to_switch = false;
  std::string why;  // for the log
};
Verdict decide(const CallKind& call, std::uint32_t ranks, const Thresholds& thresholds);

// The type of a result that may be scaled where it lacks ranks: a sum of floats; nullopt for any
// other. Not for AVG, which the switch divides.
std::optional<wire::DType> scalable(const CallKind& call);

// "allreduce of 4194304 B float32 (SUM)".
std::string describe(const CallKind& call);

}  // namespace tributary::torch_backend
