// Templates in Gloo's headers, so they get this build's flags, as the library gets its packager's.
#include "bench/gloo_sums.h"

#if TRIBUTARY_WITH_GLOO
#include <gloo/math.h>
#include <gloo/types.h>
#endif

namespace tributary::bench {

#if TRIBUTARY_WITH_GLOO
namespace {

template <typename T>
void sum(void* a, const void* b, std::size_t n) {
  gloo::sum<T>(a, a, b, n);
}

}  // namespace

GlooSum gloo_sum(wire::DType dtype) {
  if (dtype == wire::DType::float32) return sum<float>;
  if (dtype == wire::DType::float16) return sum<gloo::float16>;
  return nullptr;
}
#else
GlooSum gloo_sum(wire::DType) {
  return nullptr;
}
#endif

}  // namespace tributary::bench
