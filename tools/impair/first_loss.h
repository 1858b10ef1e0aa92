// Loses the first copy of every aggregation packet of one type, of one job or of all: each rank's
// data of each chunk, each switch's sum. Resent packets pass.
//
// Remembers a bounded number of packets; where it has forgotten one, that one is lost again. Pure.
// Used by one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/wire/types.h"

namespace tributary::impair {

struct FirstLossConfig {
  wire::PacketType type = wire::PacketType::contribution;
  std::optional<std::uint32_t> job = {};  // none: all jobs
};

class FirstLoss {
 public:
  explicit FirstLoss(const FirstLossConfig& config) : config_(config), seen_(kBuckets) {}

  // Whether this frame is to be lost.
  bool takes(std::span<const std::byte> frame);

 private:
  // Two that are sent again at once must not make each other forgotten.
  static constexpr std::size_t kWays = 8;
  static constexpr std::size_t kBuckets = 1u << 13;

  FirstLossConfig config_;
  std::vector<std::array<std::uint64_t, kWays>> seen_;  // by hash: hashes, newest first; 0: none
};

}  // namespace tributary::impair
