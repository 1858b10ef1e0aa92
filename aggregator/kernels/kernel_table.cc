#include "aggregator/kernels/kernel_table.h"

namespace tributary::aggregator {
namespace {

template <typename F>
void for_each_pair(F f) {
  for (std::uint8_t t = 1; t <= wire::kDTypeMax; ++t)
    for (std::uint8_t op = 1; op <= wire::kReduceOpMax; ++op)
      f(static_cast<wire::DType>(t), static_cast<wire::ReduceOp>(op));
}

}  // namespace

KernelTable::KernelTable(wire::Arithmetic arithmetic) {
  const Arithmetic how =
      arithmetic == wire::Arithmetic::modular ? Arithmetic::modular : Arithmetic::saturating;
  for_each_pair([&](wire::DType t, wire::ReduceOp op) {
    kernels_[static_cast<std::size_t>(t) * 16 + static_cast<std::size_t>(op)] =
        find_kernels(t, op, how);
  });
}

AdmittedReductions::AdmittedReductions(const config::JobConfig& job) {
  const auto admit = [&](wire::DType t, wire::ReduceOp op) {
    if (wire::why_invalid(t, op, job.partials) == nullptr)
      ops_[static_cast<std::size_t>(t)] |=
          static_cast<std::uint16_t>(1u << static_cast<unsigned>(op));
  };
  for (const config::Reduction& r : job.reductions) admit(r.dtype, r.op);
  if (job.reductions.empty()) for_each_pair(admit);
  // By it ranks agree on what a retry does again, whatever they sum.
  admit(wire::DType::int64, wire::ReduceOp::sum);
}

}  // namespace tributary::aggregator
