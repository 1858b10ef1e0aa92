#include "core/isa.h"

#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tributary {
namespace {

#if defined(__x86_64__)
// F16C is not among the names that every compiler's __builtin_cpu_supports knows. AVX2 support
// implies that the operating system saves the registers. Asked once: on a virtual machine CPUID
// traps, which takes longer than a packet.
bool has_f16c() {
  static const bool answer = [] {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  }();
  return answer;
}
#endif

}  // namespace

const char* name_of(Isa isa) {
  switch (isa) {
    case Isa::portable: return "portable";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::neon: return "neon";
  }
  return "?";
}

bool isa_available(Isa isa) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::portable: return true;
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("sse4.2") != 0 &&
             __builtin_cpu_supports("pclmul") != 0 && has_f16c();
    case Isa::avx512:
      return isa_available(Isa::avx2) && __builtin_cpu_supports("avx512f") != 0 &&
             __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
             __builtin_cpu_supports("avx512dq") != 0;
    case Isa::neon: return false;
  }
  return false;
#elif defined(__aarch64__)
  return isa == Isa::portable || isa == Isa::neon;
#else
  return isa == Isa::portable;
#endif
}

Isa choose_isa(std::string_view wanted) {
  Isa best = Isa::portable;
  for (const Isa isa : kAllIsas) {
    if (!isa_available(isa)) continue;
    if (wanted == name_of(isa)) return isa;
    best = isa;
  }
  return best;
}

Isa best_isa() {
  static const Isa chosen = [] {
    const char* wanted = std::getenv("TRIBUTARY_ISA");
    return choose_isa(wanted == nullptr ? "" : wanted);
  }();
  return chosen;
}

}  // namespace tributary
