#include "aggregator/shard/degraded_results.h"

#include <algorithm>

#include "core/wire/rank_bitmap.h"

namespace tributary::aggregator {

DegradedResults::DegradedResults(std::size_t results, std::uint32_t workers)
    : words_(wire::rank_words(workers)), counted_(results), missing_(results * words_) {}

void DegradedResults::put(std::uint32_t seq, std::uint32_t counted,
                          std::span<const std::uint64_t> missing) {
  counted_[place_of(seq)] = counted;
  std::copy_n(missing.begin(), words_,
              missing_.begin() + static_cast<long>(place_of(seq) * words_));
}

void DegradedResults::reset() {
  std::fill(counted_.begin(), counted_.end(), 0);
}

}  // namespace tributary::aggregator
