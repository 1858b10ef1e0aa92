#include "worker/agreement/holdings.h"

#include <algorithm>
#include <limits>

namespace tributary::worker {

bool may_begin_anew(const Failure& failure) {
  switch (failure.reason) {
    case wire::Reason::not_joined:
    case wire::Reason::stale_epoch:
    case wire::Reason::aborted:
    case wire::Reason::lease_expired:
    case wire::Reason::rank_restarted:
    case wire::Reason::shutdown:
    case wire::Reason::parent_lost:
    case wire::Reason::host_lost:
    case wire::Reason::configuration_changed:
    case wire::Reason::broken_invariant: return true;
    default: return false;
  }
}

Holdings::Holdings(std::uint32_t ranks, std::uint32_t rank, std::uint64_t held, std::uint64_t first)
    : numbers_(std::size_t{2} * ranks) {
  numbers_[std::size_t{2} * rank] = static_cast<std::int64_t>(held);
  numbers_[std::size_t{2} * rank + 1] = static_cast<std::int64_t>(first);
}

std::uint64_t Holdings::low() const {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (std::size_t rank = 0; rank < numbers_.size() / 2; ++rank)
    least = std::min(least, held(rank));
  return least;
}

std::uint64_t Holdings::high() const {
  std::uint64_t most = 0;
  for (std::size_t rank = 0; rank < numbers_.size() / 2; ++rank) most = std::max(most, held(rank));
  return most;
}

std::uint32_t Holdings::holder_of(std::uint64_t number) const {
  std::uint32_t rank = 0;
  while (held(rank) <= number) ++rank;
  return rank;
}

std::optional<std::uint32_t> Holdings::forgetful() const {
  const std::uint64_t needed = low();
  for (std::size_t rank = 0; rank < numbers_.size() / 2; ++rank)
    if (static_cast<std::uint64_t>(numbers_[2 * rank + 1]) > needed)
      return static_cast<std::uint32_t>(rank);
  return std::nullopt;
}

}  // namespace tributary::worker
