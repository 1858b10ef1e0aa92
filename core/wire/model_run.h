// The run that an epoch belongs to, as ranks tell it a parameter server before their first op on
// its model there (docs/protocol/hosts.md). A run is the epochs that ranks go through without one
// of them beginning anew: after a drain, and after a loss that they retry. Payload of an `open` of
// kModelStep, with this many uint32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tributary::wire {

inline constexpr std::size_t kModelRunWords = 5;

struct ModelRun {
  std::uint64_t id = 0;    // drawn with the run's first epoch; 0 is none
  std::uint64_t next = 0;  // in the run, the number of the op after this one
  bool goes_on = false;    // the server has answered this in an earlier epoch of the run
  bool operator==(const ModelRun&) const = default;
};

using ModelRunWords = std::array<std::uint32_t, kModelRunWords>;

constexpr ModelRunWords words_of(const ModelRun& run) {
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  return {low(run.id), low(run.id >> 32), low(run.next), low(run.next >> 32), run.goes_on ? 1u : 0};
}

constexpr ModelRun model_run_of(const ModelRunWords& w) {
  return {std::uint64_t{w[1]} << 32 | w[0], std::uint64_t{w[3]} << 32 | w[2], w[4] != 0};
}

}  // namespace tributary::wire
