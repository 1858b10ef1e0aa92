// Selects this process's next records: a position in an epoch's order (L2).
//
// Pure. The state is (epoch, position), so training can continue exactly where it stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "pool/loader/pool_config.h"
#include "pool/record/epoch_order.h"

namespace tributary::pool {

// Treatment of records that do not fill a turn of all ranks.
enum class Uneven : std::uint8_t {
  pad,   // the epoch's first records come again, so that ranks have equally many; PyTorch's
         // DistributedSampler does the same
  drop,  // the epoch's last records are left out
  keep,  // each record comes once: the first ranks have one more than the others
};

struct SamplerOptions {
  std::uint64_t records = 0;
  std::uint64_t seed = 0;
  std::uint64_t rank = 0;
  std::uint64_t ranks = 1;
  bool shuffled = true;
  Uneven uneven = Uneven::pad;
};

class Sampler {
 public:
  // Throws std::invalid_argument if there are no records, or if the rank is not below `ranks`.
  explicit Sampler(const SamplerOptions& options);

  // The number of this rank's records in each epoch.
  [[nodiscard]] std::uint64_t share() const { return share_; }
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  // Throws std::invalid_argument beyond the share; at its end, next() begins the next epoch.
  void seek(std::uint64_t epoch, std::uint64_t position);

  // The next ids of this epoch, as many as the amount; fewer at its end; and none, once, when it is
  // over. With an amount of bytes: as many records as fit, at least one. Throws
  // std::invalid_argument for an amount of 0, or beyond the largest share of a rank.
  std::vector<std::uint64_t> next(const Amount& amount,
                                  const std::function<std::uint64_t(std::uint64_t)>& length_of);

 private:
  SamplerOptions options_;
  std::uint64_t largest_share_;  // of all ranks, before any are dropped
  std::uint64_t share_;
  std::uint64_t epoch_ = 0;
  std::uint64_t position_ = 0;
};

}  // namespace tributary::pool
