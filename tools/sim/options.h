// The command line of tributary-sim.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tributary::simtool {

struct Options {
  std::string scenario;
  std::optional<std::uint64_t> seed;
  std::vector<std::uint32_t> scaling;  // numbers of workers; empty: the scenario as it is
  std::string json;
  bool check = false;
  bool log = false;
  bool quiet = false;
};

inline constexpr int kExitViolation = 1;
inline constexpr int kExitUsage = 2;

// An exit status when there is nothing to run.
std::optional<int> parse_options(int argc, const char* const* argv, Options& options);

}  // namespace tributary::simtool
