#include "worker/torch/host_memory.h"

#include <utility>

namespace tributary::torch_backend {
namespace {

// True if all are contiguous, and each begins where the one before ends.
bool follow_each_other(const std::vector<at::Tensor>& tensors) {
  const char* next = nullptr;
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.is_contiguous()) return false;
    if (tensor.numel() == 0) continue;
    const auto* const begin = static_cast<const char*>(tensor.data_ptr());
    if (next != nullptr && begin != next) return false;
    next = begin + tensor.nbytes();
  }
  return true;
}

const at::Tensor& first_with_elements(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors)
    if (tensor.numel() != 0) return tensor;
  return tensors.front();
}

}  // namespace

void check_host(const at::Tensor& tensor, const char* call) {
  TORCH_CHECK(tensor.device().is_cpu(), "tributary: ", call, " of a tensor on device ",
              tensor.device(),
              ": tensors must be in host memory; use tensor.cpu(), or "
              "init_process_group(\"cpu:tributary,cuda:nccl\") for tensors of both kinds");
}

HostMemory HostMemory::of(std::vector<at::Tensor> tensors, bool read) {
  HostMemory m;
  m.tensors_ = std::move(tensors);
  for (const at::Tensor& tensor : m.tensors_) m.count_ += static_cast<std::size_t>(tensor.numel());
  if (m.count_ == 0) return m;
  const at::Tensor& first = first_with_elements(m.tensors_);
  m.copied_ = !follow_each_other(m.tensors_);
  if (!m.copied_) {
    m.memory_ = first;
    return m;
  }
  m.memory_ = at::empty({static_cast<int64_t>(m.count_)}, first.options());
  if (!read) return m;
  int64_t at = 0;
  for (const at::Tensor& tensor : m.tensors_) {
    m.memory_.narrow(0, at, tensor.numel()).view(tensor.sizes()).copy_(tensor.detach());
    at += tensor.numel();
  }
  return m;
}

HostMemory HostMemory::pack(std::vector<at::Tensor> tensors) {
  return of(std::move(tensors), true);
}

HostMemory HostMemory::room_for(std::vector<at::Tensor> tensors) {
  return of(std::move(tensors), false);
}

void HostMemory::unpack() {
  if (!copied_) return;
  int64_t at = 0;
  for (at::Tensor& tensor : tensors_) {
    tensor.detach().copy_(memory_.narrow(0, at, tensor.numel()).view(tensor.sizes()));
    at += tensor.numel();
  }
}

}  // namespace tributary::torch_backend
