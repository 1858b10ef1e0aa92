// The ranks missing from each degraded result (protocol rule 21), kept as long as the result: a
// list for each of the 2W chunk entries of one (job, shard), reserved where the job allows degraded
// results.
//
//   none ──host's decision──▶ kept ──all children have the result──▶ none
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tributary::aggregator {

class DegradedResults {
 public:
  // `results`: a power of two, or 0 if every result has all ranks.
  DegradedResults(std::size_t results, std::uint32_t workers);

  [[nodiscard]] bool allowed() const { return !counted_.empty(); }
  // The ranks counted in a result that is kept; 0: it has every rank.
  [[nodiscard]] std::uint32_t counted(std::uint32_t seq) const {
    return allowed() ? counted_[place_of(seq)] : 0;
  }
  [[nodiscard]] std::span<const std::uint64_t> missing(std::uint32_t seq) const {
    return std::span(missing_).subspan(place_of(seq) * words_, words_);
  }
  void put(std::uint32_t seq, std::uint32_t counted, std::span<const std::uint64_t> missing);
  // The result is not kept any more.
  void forget(std::uint32_t seq) {
    if (allowed()) counted_[place_of(seq)] = 0;
  }
  void reset();

  [[nodiscard]] std::size_t table_bytes() const {
    return counted_.size() * sizeof(std::uint32_t) + missing_.size() * sizeof(std::uint64_t);
  }

 private:
  [[nodiscard]] std::size_t place_of(std::uint32_t seq) const {
    return seq & (counted_.size() - 1);
  }

  std::size_t words_;
  std::vector<std::uint32_t> counted_;
  std::vector<std::uint64_t> missing_;
};

}  // namespace tributary::aggregator
