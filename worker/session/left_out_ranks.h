// Results that lack ranks, if the job allows them (rule 21). Every rank gets the same bits and the
// same list, even the ranks on the list: their op ends with that result, too, and they learn that
// they were not counted.
#pragma once

#include <cstdint>
#include <vector>

#include "core/wire/header.h"
#include "worker/session/op.h"

namespace tributary::worker {

class LeftOutRanks {
 public:
  // `allowed`: START says that results of the epoch may lack ranks.
  void start(std::uint32_t ranks, bool allowed);
  [[nodiscard]] bool allowed() const { return allowed_; }
  // Returns whether the result counts as many ranks as required, and remembers the ranks that it
  // lacks.
  [[nodiscard]] bool count_fits(const Op& op, const wire::Packet& result);
  // That result is accepted: adds its missing ranks to its op. Returns whether there are any.
  bool take(Op& op, const wire::Header& result) const;

 private:
  std::uint32_t ranks_ = 0;  // of the job
  bool allowed_ = false;
  std::vector<std::uint64_t> missing_;  // bits of the ranks that the last result lacks
};

}  // namespace tributary::worker
