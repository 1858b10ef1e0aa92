// The ranks that the switch waits for, from its last PENDING. Error texts name them.
//
// While this rank joins, they are ranks without a JOIN. While it runs, they are ranks whose data a
// chunk lacks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/wire/extension.h"
#include "core/wire/header.h"

namespace tributary::worker {

class MissingRanks {
 public:
  static constexpr std::size_t kMost = wire::kMaxMissingIds;

  // PENDING about a JOIN. A rank that gives up leaves, and is missing from then on. So only ranks
  // that were missing before stay named, as long as the switch names any of them.
  void narrow(const wire::Packet& pending);
  // PENDING about a chunk. `sender`: the only rank that sends it; it is named if the switch has got
  // no data and knows no names.
  void set(const wire::Packet& pending, std::optional<std::uint32_t> sender);
  void clear() { count_ = 0; }

  [[nodiscard]] std::span<const std::uint32_t> get() const {
    return std::span(ranks_).first(count_);
  }
  // The chunk of that op that lacks them; nullopt if nothing is known about the op.
  [[nodiscard]] std::optional<std::uint32_t> chunk_of(std::uint32_t op) const {
    if (count_ == 0 || op_ != op) return std::nullopt;
    return chunk_;
  }

 private:
  std::array<std::uint32_t, kMost> ranks_{};
  std::size_t count_ = 0;
  std::uint32_t op_ = 0;
  std::uint32_t chunk_ = 0;
};

}  // namespace tributary::worker
