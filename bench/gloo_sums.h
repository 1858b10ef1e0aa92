// Gloo's own summation loops, what its allreduce algorithms call per chunk.
#pragma once

#include <cstddef>

#include "core/wire/types.h"

namespace tributary::bench {

// a = a + b, elements of the type. nullptr for types that this suite does not compare, and in
// builds without Gloo.
using GlooSum = void (*)(void* a, const void* b, std::size_t n);
GlooSum gloo_sum(wire::DType dtype);

}  // namespace tributary::bench
