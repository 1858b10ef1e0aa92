// Calls that Backend leaves to the inner group: their data differs by rank or goes from one rank to
// another. The switch has nothing to sum there.
#include "worker/torch/backend.h"

namespace tributary::torch_backend {
namespace {

void check_all(const std::vector<at::Tensor>& tensors, const char* call) {
  for (const at::Tensor& tensor : tensors) check_host(tensor, call);
}

}  // namespace

WorkPointer Backend::allgather_coalesced(std::vector<std::vector<at::Tensor>>& outputs,
                                         std::vector<at::Tensor>& inputs,
                                         const c10d::AllgatherOptions& opts) {
  check_all(inputs, "all_gather_coalesced");
  return inner_->allgather_coalesced(outputs, inputs, opts);
}

WorkPointer Backend::gather(std::vector<std::vector<at::Tensor>>& outputs,
                            std::vector<at::Tensor>& inputs, const c10d::GatherOptions& opts) {
  check_all(inputs, "gather");
  return inner_->gather(outputs, inputs, opts);
}

WorkPointer Backend::scatter(std::vector<at::Tensor>& outputs,
                             std::vector<std::vector<at::Tensor>>& inputs,
                             const c10d::ScatterOptions& opts) {
  check_all(outputs, "scatter");
  return inner_->scatter(outputs, inputs, opts);
}

WorkPointer Backend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                   std::vector<int64_t>& output_sizes,
                                   std::vector<int64_t>& input_sizes,
                                   const c10d::AllToAllOptions& opts) {
  check_host(input, "all_to_all_single");
  return inner_->alltoall_base(output, input, output_sizes, input_sizes, opts);
}

WorkPointer Backend::alltoall(std::vector<at::Tensor>& outputs, std::vector<at::Tensor>& inputs,
                              const c10d::AllToAllOptions& opts) {
  check_all(inputs, "all_to_all");
  return inner_->alltoall(outputs, inputs, opts);
}

WorkPointer Backend::send(std::vector<at::Tensor>& tensors, int to, int tag) {
  check_all(tensors, "send");
  return inner_->send(tensors, to, tag);
}

WorkPointer Backend::recv(std::vector<at::Tensor>& tensors, int from, int tag) {
  check_all(tensors, "recv");
  return inner_->recv(tensors, from, tag);
}

WorkPointer Backend::recvAnysource(std::vector<at::Tensor>& tensors, int tag) {
  check_all(tensors, "recv");
  return inner_->recvAnysource(tensors, tag);
}

void Backend::monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_all_ranks) {
  inner_->monitoredBarrier(opts, wait_all_ranks);
}

}  // namespace tributary::torch_backend
