#include "worker/agreement/size_vote.h"

namespace tributary::worker {
namespace {

// Sizes from 2^31 on count as that, which no job has.
std::int64_t size_and_rank(std::uint32_t size, std::uint32_t rank) {
  const std::uint64_t capped = size < 0x7FFFFFFF ? size : 0x7FFFFFFF;
  return static_cast<std::int64_t>(capped << 32 | rank);
}

struct Wish {
  std::uint32_t size = 0;
  std::uint32_t rank = 0;
};
Wish wish_of(std::int64_t vote) {
  const auto bits = static_cast<std::uint64_t>(vote);
  return {static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
}

std::string wish_text(const Wish& wish) {
  return "rank " + std::to_string(wish.rank) + " wants " + std::to_string(wish.size);
}

}  // namespace

SizeVote vote_for_size(std::uint32_t size, std::uint32_t rank, std::uint32_t least,
                       std::uint32_t most) {
  return {size_and_rank(size, rank), -size_and_rank(size, rank), std::int64_t{least},
          -std::int64_t{most}};
}

SizeVerdict verdict_of(const SizeVote& maximum, std::uint32_t wanted, std::uint32_t size,
                       std::uint32_t job) {
  const Wish largest = wish_of(maximum[0]);
  const Wish smallest = wish_of(-maximum[1]);
  const std::int64_t least = maximum[2];
  const std::int64_t most = -maximum[3];
  const std::string named = "job " + std::to_string(job);
  if (largest.size != smallest.size)
    return {false,
            {},
            named + ": the ranks want different sizes: " + wish_text(smallest) + ", " +
                wish_text(largest) + "; the job stays at " + std::to_string(size),
            {smallest.rank, largest.rank}};
  if (most == 0)
    return {false,
            "resize to " + std::to_string(wanted) + ": " + named +
                " has no min_workers at its switch; allowed: " + std::to_string(size),
            {},
            {}};
  if (wanted < least || wanted > most)
    return {false,
            "resize to " + std::to_string(wanted) + ": " + named + " has " + std::to_string(least) +
                " to " + std::to_string(most) + " ranks (min_workers and workers at its switch)",
            {},
            {}};
  return {true, {}, {}, {}};
}

}  // namespace tributary::worker
