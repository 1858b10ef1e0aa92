// Agreement of ranks on the ops that each of them has, after an epoch that ended unannounced
// (docs/protocol/retry.md).
//
// Ops are numbered equally on all ranks. Each rank brings two numbers: how many ops it has
// delivered, and the first of them that it can still do again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "worker/session/failure.h"

namespace tributary::worker {

// False: the same would happen again, or the ranks cannot meet again.
bool may_begin_anew(const Failure& failure);

class Holdings {
 public:
  Holdings(std::uint32_t ranks, std::uint32_t rank, std::uint64_t held, std::uint64_t first);

  // This rank's contribution to a sum over all ranks, whose result has the numbers of all.
  [[nodiscard]] std::span<std::int64_t> numbers() { return numbers_; }
  // Ops from low() to high() are held by some rank, and not by all.
  [[nodiscard]] std::uint64_t low() const;
  [[nodiscard]] std::uint64_t high() const;
  // The lowest rank that has the op, which is in that range.
  [[nodiscard]] std::uint32_t holder_of(std::uint64_t number) const;
  // A rank that does not keep what others lack; nullopt: none.
  [[nodiscard]] std::optional<std::uint32_t> forgetful() const;

 private:
  [[nodiscard]] std::uint64_t held(std::size_t rank) const {
    return static_cast<std::uint64_t>(numbers_[2 * rank]);
  }
  std::vector<std::int64_t> numbers_;
};

}  // namespace tributary::worker
