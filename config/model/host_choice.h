// Chooses which of a job's completion hosts serves, if several could (T11): policies, as a pure
// function from candidates to an order.
//
//   fixed          in the order of the list
//   random         by a hash of job and node: jobs are spread over the hosts, and the two numbers
//                  alone determine the result
//   least_load     by the loads that the caller gives for this choice
//   fewest_hops    by links between host and root
//   lowest_cost    by the sum of these links' costs
//   two_stage      the caller names some, the root picks one of them: by hops, then by cost
//
// Ties go to the candidate that comes first in the list, always.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tributary::config {

enum class HostChoice : std::uint8_t {
  fixed,
  random,
  least_load,
  fewest_hops,
  lowest_cost,
  two_stage,
};
const char* name_of(HostChoice choice);

struct HostCandidate {
  std::uint32_t node = 0;  // its id: the address
  std::uint32_t hops = 1;
  std::uint32_t cost = 1;
  std::optional<std::uint32_t> load;  // none: unknown, and ordered behind all known loads
  bool shortlisted = false;           // two_stage; if none is, all count as shortlisted
};

// SplitMix64 of job << 32 | node: under `random`, the lowest value comes first.
std::uint64_t random_rank(std::uint32_t job, std::uint32_t node);

// Fills `order`, of the same length as `candidates`, with their places, best first. No allocation.
void order_hosts(HostChoice choice, std::uint32_t job, std::span<const HostCandidate> candidates,
                 std::span<std::size_t> order);

}  // namespace tributary::config
