// Backend's collectives whose data has a part for each rank: all_gather and reduce_scatter, with
// lists of tensors and with one tensor.
#include <algorithm>

#include "worker/torch/backend.h"

namespace tributary::torch_backend {
namespace {

std::chrono::milliseconds set_or_zero(std::chrono::milliseconds timeout) {
  return timeout == c10d::kUnsetTimeout ? std::chrono::milliseconds(0) : timeout;
}

bool all_have(const std::vector<at::Tensor>& tensors, int64_t elements) {
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const at::Tensor& tensor) { return tensor.numel() == elements; });
}

void check_types(const at::Tensor& one, const std::vector<at::Tensor>& others, const char* call) {
  for (const at::Tensor& other : others) {
    check_host(other, call);
    TORCH_CHECK(other.scalar_type() == one.scalar_type(), "tributary: ", call, " of ",
                one.scalar_type(), " and ", other.scalar_type(),
                ": inputs and outputs have one type");
  }
}

// Tensors with the part of each rank: views of one tensor.
std::vector<at::Tensor> parts_of(const at::Tensor& whole, int ranks, const char* call) {
  TORCH_CHECK(whole.numel() % ranks == 0, "tributary: ", call, ": ", whole.numel(),
              " elements have no equal parts for ", ranks, " ranks");
  TORCH_CHECK(whole.is_contiguous(), "tributary: ", call,
              ": the tensor of all parts must be contiguous");
  return whole.detach().view({-1}).chunk(ranks);
}

}  // namespace

WorkPointer Backend::gather_parts(std::vector<std::vector<at::Tensor>> outputs,
                                  std::vector<at::Tensor> inputs, std::chrono::milliseconds timeout,
                                  c10d::OpType type, const std::function<WorkPointer()>& inner) {
  CallKind kind = kind_of(wire::Collective::all_gather, inputs, nullptr, "all_gather");
  kind.bytes *= static_cast<std::uint64_t>(size_);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    TORCH_CHECK(static_cast<int>(outputs[i].size()) == size_, "tributary: all_gather into ",
                outputs[i].size(), " tensors; the group has ", size_, " ranks");
    check_types(inputs[i], outputs[i], "all_gather");
    kind.dense_on_one_layout &= all_have(outputs[i], inputs[i].numel());
  }
  Started s{route(kind)};
  if (s.communicator == nullptr) return inner();
  s.call = {type, "tributary:all_gather", describe(kind), inputs, {}, {}, {}, set_or_zero(timeout)};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    HostMemory in = HostMemory::pack({inputs[i]});
    HostMemory out = HostMemory::room_for(outputs[i]);
    s.requests.push_back(s.communicator->all_gather(in.data(), out.data(), in.count(), kind.dtype));
    s.call.results.insert(s.call.results.end(), outputs[i].begin(), outputs[i].end());
    s.call.used.push_back(in);
    s.call.received.push_back(out);
  }
  return finish_start(kind, std::move(s));
}

WorkPointer Backend::allgather(std::vector<std::vector<at::Tensor>>& outputs,
                               std::vector<at::Tensor>& inputs,
                               const c10d::AllgatherOptions& opts) {
  TORCH_CHECK(inputs.size() == 1 && outputs.size() == 1,
              "tributary: all_gather takes one tensor and one list");
  return gather_parts(outputs, inputs, opts.timeout, c10d::OpType::ALLGATHER,
                      [&] { return inner_->allgather(outputs, inputs, opts); });
}

WorkPointer Backend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                     const c10d::AllgatherOptions& opts) {
  std::vector<at::Tensor> outputs{output};
  std::vector<at::Tensor> inputs{input};
  return allgather_into_tensor_coalesced(outputs, inputs, opts);
}

WorkPointer Backend::allgather_into_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                     std::vector<at::Tensor>& inputs,
                                                     const c10d::AllgatherOptions& opts) {
  TORCH_CHECK(!inputs.empty() && outputs.size() == inputs.size(), "tributary: all_gather of ",
              inputs.size(), " tensors into ", outputs.size());
  std::vector<std::vector<at::Tensor>> parts;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_host(outputs[i], "all_gather_into_tensor");
    TORCH_CHECK(outputs[i].numel() == inputs[i].numel() * size_,
                "tributary: all_gather_into_tensor of ", inputs[i].numel(),
                " elements from each of ", size_, " ranks into ", outputs[i].numel());
    parts.push_back(parts_of(outputs[i], size_, "all_gather_into_tensor"));
    if (inputs[i].numel() == 0) parts.back().assign(static_cast<std::size_t>(size_), inputs[i]);
  }
  // Old versions of Gloo only accept lists; views of one tensor form such a list.
  return gather_parts(parts, inputs, opts.timeout, c10d::OpType::_ALLGATHER_BASE, [&] {
    WorkPointer last;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (last) last->wait();
      std::vector<std::vector<at::Tensor>> out{parts[i]};
      std::vector<at::Tensor> in{inputs[i].detach().contiguous().view({-1})};
      last = inner_->allgather(out, in, opts);
    }
    return last;
  });
}

WorkPointer Backend::scatter_parts(std::vector<at::Tensor> outputs,
                                   std::vector<std::vector<at::Tensor>> inputs,
                                   const c10d::ReduceOp& op, std::chrono::milliseconds timeout,
                                   c10d::OpType type) {
  std::vector<at::Tensor> all;
  bool even = true;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    TORCH_CHECK(static_cast<int>(inputs[i].size()) == size_, "tributary: reduce_scatter of ",
                inputs[i].size(), " tensors; the group has ", size_, " ranks");
    check_host(outputs[i], "reduce_scatter");
    check_types(outputs[i], inputs[i], "reduce_scatter");
    even &= all_have(inputs[i], outputs[i].numel());
    all.insert(all.end(), inputs[i].begin(), inputs[i].end());
  }
  CallKind kind = kind_of(wire::Collective::reduce_scatter, all, &op, "reduce_scatter");
  kind.inner_can = false;  // many versions of Gloo lack it
  TORCH_CHECK(even, "tributary: reduce_scatter needs inputs of the output's size");
  TORCH_CHECK(kind.op || size_ == 1, "tributary: reduce_scatter of ", all.front().scalar_type(),
              " with ", name_of(op), ": the switch does not have it, and neither has Gloo");
  Started s{route(kind)};
  s.call = {type, "tributary:reduce_scatter", describe(kind), all, outputs, {},
            {},   set_or_zero(timeout)};
  if (s.communicator == nullptr) {
    TORCH_CHECK(size_ == 1, "tributary: reduce_scatter needs a job of the switch (",
                membership_.why_not(), "); Gloo has no reduce_scatter");
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].detach().copy_(inputs[i].front());
    return finish_start(kind, std::move(s));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    HostMemory in = HostMemory::pack(inputs[i]);
    HostMemory out = HostMemory::room_for({outputs[i]});
    s.requests.push_back(
        s.communicator->reduce_scatter(in.data(), out.data(), out.count(), kind.dtype, *kind.op));
    s.call.used.push_back(in);
    s.call.received.push_back(out);
  }
  return finish_start(kind, std::move(s));
}

WorkPointer Backend::reduce_scatter(std::vector<at::Tensor>& outputs,
                                    std::vector<std::vector<at::Tensor>>& inputs,
                                    const c10d::ReduceScatterOptions& opts) {
  TORCH_CHECK(outputs.size() == 1 && inputs.size() == 1,
              "tributary: reduce_scatter takes one tensor and one list");
  return scatter_parts(outputs, inputs, opts.reduceOp, opts.timeout, c10d::OpType::REDUCE_SCATTER);
}

WorkPointer Backend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                          const c10d::ReduceScatterOptions& opts) {
  std::vector<at::Tensor> outputs{output};
  std::vector<at::Tensor> inputs{input};
  return reduce_scatter_tensor_coalesced(outputs, inputs, opts);
}

WorkPointer Backend::reduce_scatter_tensor_coalesced(std::vector<at::Tensor>& outputs,
                                                     std::vector<at::Tensor>& inputs,
                                                     const c10d::ReduceScatterOptions& opts) {
  TORCH_CHECK(!outputs.empty() && outputs.size() == inputs.size(), "tributary: reduce_scatter of ",
              inputs.size(), " tensors into ", outputs.size());
  std::vector<std::vector<at::Tensor>> parts;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check_host(inputs[i], "reduce_scatter_tensor");
    TORCH_CHECK(inputs[i].numel() == outputs[i].numel() * size_,
                "tributary: reduce_scatter_tensor of ", inputs[i].numel(), " elements over ", size_,
                " ranks into ", outputs[i].numel());
    parts.push_back(parts_of(inputs[i].contiguous(), size_, "reduce_scatter_tensor"));
    if (outputs[i].numel() == 0) parts.back().assign(static_cast<std::size_t>(size_), outputs[i]);
  }
  return scatter_parts(outputs, parts, opts.reduceOp, opts.timeout,
                       c10d::OpType::_REDUCE_SCATTER_BASE);
}

}  // namespace tributary::torch_backend
