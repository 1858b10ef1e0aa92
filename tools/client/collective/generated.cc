#include "tools/client/collective/generated.h"

namespace tributary::client {

using wire::Collective;

bool in_place_alone(Collective collective) {
  return collective != Collective::all_gather && collective != Collective::reduce_scatter;
}

bool reduces(Collective collective) {
  return collective == Collective::allreduce || collective == Collective::reduce ||
         collective == Collective::reduce_scatter;
}

bool has_root(Collective collective) {
  return collective == Collective::reduce || collective == Collective::broadcast;
}

// Moves reduce nothing; any operation that the type has would do for their values.
Generated::Generated(Collective collective, wire::DType dtype, wire::ReduceOp op,
                     std::uint32_t root, std::uint32_t ranks, std::uint64_t count)
    : collective_(collective),
      root_(root),
      ranks_(ranks),
      count_(count),
      pattern_(dtype, reduces(collective) ? op : wire::ReduceOp::max, ranks) {}

std::uint64_t Generated::input_elements() const {
  return collective_ == Collective::reduce_scatter ? count_ * ranks_ : count_;
}

std::uint64_t Generated::result_elements() const {
  return collective_ == Collective::all_gather ? count_ * ranks_ : count_;
}

void Generated::fill(std::span<std::byte> input, std::uint32_t rank, std::uint64_t round) const {
  pattern_.fill(input, rank, round);
}

std::uint64_t Generated::count_wrong(std::span<const std::byte> result, std::uint32_t rank,
                                     std::uint64_t round) const {
  switch (collective_) {
    case Collective::broadcast: return pattern_.count_wrong_of(root_, result, round);
    case Collective::reduce:
      return rank == root_ ? pattern_.count_wrong(result, round)
                           : pattern_.count_wrong_of(rank, result, round);
    case Collective::reduce_scatter:
      return pattern_.count_wrong(result, round, std::uint64_t{rank} * count_);
    case Collective::all_gather: {
      std::uint64_t wrong = 0;
      const std::size_t part = result.size() / ranks_;
      for (std::uint32_t r = 0; r < ranks_; ++r)
        wrong += pattern_.count_wrong_of(r, result.subspan(r * part, part), round);
      return wrong;
    }
    default: return pattern_.count_wrong(result, round);
  }
}

}  // namespace tributary::client
