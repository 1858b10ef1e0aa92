#include "pool/loader/sampler.h"

#include <string>

namespace tributary::pool {

Sampler::Sampler(const SamplerOptions& options) : options_(options) {
  if (options.records == 0) throw std::invalid_argument("a data set without records");
  if (options.ranks == 0 || options.rank >= options.ranks)
    throw std::invalid_argument("rank " + std::to_string(options.rank) + " of " +
                                std::to_string(options.ranks) + "; allowed: 0 to ranks - 1");
  largest_share_ = share_of(options.records, 0, options.ranks);
  switch (options.uneven) {
    case Uneven::pad: share_ = largest_share_; break;
    case Uneven::drop: share_ = options.records / options.ranks; break;
    case Uneven::keep: share_ = share_of(options.records, options.rank, options.ranks); break;
  }
}

void Sampler::seek(std::uint64_t epoch, std::uint64_t position) {
  if (position > share_)
    throw std::invalid_argument("position " + std::to_string(position) + " of an epoch of " +
                                std::to_string(share_) + " records for this rank");
  epoch_ = epoch;
  position_ = position;
}

std::vector<std::uint64_t> Sampler::next(
    const Amount& amount, const std::function<std::uint64_t(std::uint64_t)>& length_of) {
  if (amount.number == 0) throw std::invalid_argument("an amount of 0; allowed: at least 1");
  if (!amount.bytes && amount.number > largest_share_)
    throw std::invalid_argument("an amount of " + std::to_string(amount.number) +
                                " records is beyond the epoch, which has " +
                                std::to_string(largest_share_) + " for a rank");
  std::vector<std::uint64_t> ids;
  if (position_ == share_) {
    ++epoch_;
    position_ = 0;
    return ids;
  }
  const EpochOrder order(options_.records, options_.seed, epoch_, options_.shuffled);
  std::uint64_t bytes = 0;
  while (position_ < share_) {
    const std::uint64_t id =
        order.at((position_ * options_.ranks + options_.rank) % options_.records);
    if (amount.bytes) {
      bytes += length_of(id);
      if (!ids.empty() && bytes > amount.number) break;
    } else if (ids.size() == amount.number) {
      break;
    }
    ids.push_back(id);
    ++position_;
  }
  return ids;
}

}  // namespace tributary::pool
