#include "config/model/host_choice.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/prng.h"

namespace tributary::config {
namespace {

// Compared from left to right; less is better.
using Key = std::array<std::uint64_t, 3>;

Key key_of(HostChoice choice, std::uint32_t job, const HostCandidate& c) {
  switch (choice) {
    case HostChoice::fixed: return {};
    case HostChoice::random: return {random_rank(job, c.node)};
    case HostChoice::least_load: return {c.load ? 0u : 1u, c.load.value_or(0)};
    case HostChoice::fewest_hops: return {c.hops};
    case HostChoice::lowest_cost: return {c.cost};
    case HostChoice::two_stage: return {c.shortlisted ? 0u : 1u, c.hops, c.cost};
  }
  return {};
}

}  // namespace

const char* name_of(HostChoice choice) {
  switch (choice) {
    case HostChoice::fixed: return "fixed";
    case HostChoice::random: return "random";
    case HostChoice::least_load: return "least_load";
    case HostChoice::fewest_hops: return "fewest_hops";
    case HostChoice::lowest_cost: return "lowest_cost";
    case HostChoice::two_stage: return "two_stage";
  }
  return "?";
}

std::uint64_t random_rank(std::uint32_t job, std::uint32_t node) {
  return split_mix((std::uint64_t{job} << 32 | node) + kSplitMixStep);
}

void order_hosts(HostChoice choice, std::uint32_t job, std::span<const HostCandidate> candidates,
                 std::span<std::size_t> order) {
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Key left = key_of(choice, job, candidates[a]);
    const Key right = key_of(choice, job, candidates[b]);
    return left != right ? left < right : a < b;
  });
}

}  // namespace tributary::config
