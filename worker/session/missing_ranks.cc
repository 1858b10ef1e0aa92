#include "worker/session/missing_ranks.h"

#include <algorithm>

namespace tributary::worker {

void MissingRanks::narrow(const wire::Packet& pending) {
  std::array<std::uint32_t, kMost> named;
  const std::size_t count = std::min(wire::find_missing_ids(pending.extensions, named), kMost);
  const auto before = get();
  const auto missed_before = [&](std::uint32_t rank) {
    return std::find(before.begin(), before.end(), rank) != before.end();
  };
  auto* const end = named.begin() + count;
  auto* const others = std::stable_partition(named.begin(), end, missed_before);
  count_ = others != named.begin() ? static_cast<std::size_t>(others - named.begin()) : count;
  std::copy_n(named.begin(), count_, ranks_.begin());
}

void MissingRanks::set(const wire::Packet& pending, std::optional<std::uint32_t> sender) {
  count_ = std::min(wire::find_missing_ids(pending.extensions, ranks_), kMost);
  if (count_ == 0 && sender) {
    ranks_[0] = *sender;
    count_ = 1;
  }
  op_ = pending.header.op;
  chunk_ = pending.header.chunk;
}

}  // namespace tributary::worker
