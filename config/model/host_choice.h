// Which of a job's completion hosts serves, when several could (T11): policies and what they look
// at, a pure function from candidates to an order.
//
//   fixed          in the order of the list
//   random         by a hash of job and node: jobs are spread over the hosts, and whoever knows
//                  both numbers knows the outcome
//   least_load     by the figures that the caller gave for this election
//   fewest_hops    by links between host and root
//   lowest_cost    by the costs of these links, together
//   two_stage      the caller names some, the root picks among them: hops, then cost
//
// Ties go to the one that stands first in the list, always.
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
  std::optional<std::uint32_t> load;  // none: nobody said; behind all of whom it is known
  bool shortlisted = false;           // two_stage; when nobody is, all are
};

// SplitMix64 of job << 32 | node: least comes first under `random`.
std::uint64_t random_rank(std::uint32_t job, std::uint32_t node);

// `order` becomes the places of `candidates`, best first; of the same length. Allocates nothing.
void order_hosts(HostChoice choice, std::uint32_t job, std::span<const HostCandidate> candidates,
                 std::span<std::size_t> order);

}  // namespace tributary::config
