// The instruction sets that hot loops are written for, and which of them this CPU can run.
//
// Each such loop has one implementation per set and picks one when it is set up, never per
// element; no build flag raises the baseline, so one binary runs everywhere.
#pragma once

#include <cstdint>
#include <string_view>

namespace tributary {

enum class Isa : std::uint8_t { portable, avx2, avx512, neon };
inline constexpr Isa kAllIsas[] = {Isa::portable, Isa::avx2, Isa::avx512, Isa::neon};
const char* name_of(Isa isa);

// True when both the CPU and the operating system support it. avx2 includes SSE4.2,
// PCLMULQDQ and F16C; avx512 means F, BW, VL and DQ.
bool isa_available(Isa isa);

// Best set this CPU can run, decided once. TRIBUTARY_ISA=portable|avx2|avx512|neon in the
// environment selects another one that is available; any other value is ignored.
Isa best_isa();

// The rule behind best_isa(), with the environment's value as an argument.
Isa choose_isa(std::string_view wanted);

}  // namespace tributary
