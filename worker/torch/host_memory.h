// The one place that turns tensors into host memory which the network may read and write, and back.
// Copies tensors that need it (a strided view, a list of tensors, later a device's memory).
//
//   tensors ──pack()──▶ memory ──(the op)──▶ memory ──unpack()──▶ tensors
//
// A contiguous tensor is its own memory: nothing is copied.
#pragma once

#include <ATen/ATen.h>

#include <vector>

#include "core/wire/types.h"

namespace tributary::torch_backend {

// Throws c10::Error, a RuntimeError in Python, for a tensor that is not in host memory. `call` is
// the user's call.
void check_host(const at::Tensor& tensor, const char* call);

class HostMemory {
 public:
  HostMemory() = default;
  // The tensors one behind the other; all have one type. Reads them. A list of tensors that follow
  // each other in memory is not copied either.
  static HostMemory pack(std::vector<at::Tensor> tensors);
  // The same for tensors that are only written: their contents are not copied.
  static HostMemory room_for(std::vector<at::Tensor> tensors);

  [[nodiscard]] void* data() const { return count_ == 0 ? nullptr : memory_.data_ptr(); }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] bool copied() const { return copied_; }
  [[nodiscard]] const std::vector<at::Tensor>& tensors() const { return tensors_; }
  // Copies the memory to the tensors, unless it is theirs.
  void unpack();

 private:
  static HostMemory of(std::vector<at::Tensor> tensors, bool read);

  std::vector<at::Tensor> tensors_;
  at::Tensor memory_;  // one dimension; contiguous
  std::size_t count_ = 0;
  bool copied_ = false;
};

}  // namespace tributary::torch_backend
