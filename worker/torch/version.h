// The parts of PyTorch's C++ interface that differ between versions 1.13 and 2.x, under one name.
//
// c10d::ProcessGroup is the base class of backends below 2.0, c10d::Backend is from 2.0 on. Methods
// that came after 1.13 are declared `virtual` without `override`: they override where the base
// class has them, and are unused elsewhere.
#pragma once

#if __has_include(<torch/headeronly/version.h>)
#include <torch/headeronly/version.h>
#else
#include <torch/csrc/api/include/torch/version.h>
#endif

#include <torch/csrc/distributed/c10d/Store.hpp>
#include <torch/csrc/distributed/c10d/Types.hpp>
#if TORCH_VERSION_MAJOR >= 2
#include <torch/csrc/distributed/c10d/Backend.hpp>
#else
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#endif

namespace tributary::torch_backend {

#if TORCH_VERSION_MAJOR >= 2
using BackendBase = c10d::Backend;
#else
using BackendBase = c10d::ProcessGroup;
#endif
using BackendPointer = c10::intrusive_ptr<BackendBase>;
using WorkPointer = c10::intrusive_ptr<c10d::Work>;

}  // namespace tributary::torch_backend
