// Arrays as values of named data, in the form that Python's `get` reads: a .npy file of version 1.0
// (NumPy Enhancement Proposal 1), byte by byte as numpy 1.24 writes it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "worker/task/task_array.h"

namespace tributary::task {

std::vector<std::byte> to_npy(const TaskArray& array);
// The bytes of an array of uint8 with one dimension; none: the value is no such array of this
// length.
std::optional<std::span<const std::byte>> bytes_of_npy(std::span<const std::byte> value,
                                                       std::size_t length);

}  // namespace tributary::task
