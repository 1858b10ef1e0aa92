// Kubernetes' quantities: "500m" and "2" of CPUs, "64Mi" and "8G" of bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::manager {

// Thousandths of a CPU, rounded up. nullopt: no quantity, negative, or above 10^6 CPUs.
std::optional<std::uint64_t> parse_cpu_millis(std::string_view text);
// Suffixes k, M, G, T, P and Ki, Mi, Gi, Ti, Pi. nullopt: no quantity, or above 2^60.
std::optional<std::uint64_t> parse_bytes(std::string_view text);
// In the largest binary unit that divides it: "8Gi".
std::string format_bytes(std::uint64_t bytes);

}  // namespace tributary::manager
