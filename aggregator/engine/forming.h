// Ranks that switches below still wait for while an epoch forms (protocol, "Trees"): each such
// switch names them to the one above, which then names these ranks, not all below that switch.
//
// A switch joins when all below it have joined. Its list of missing ranks is valid for kLasts; a
// switch that has sent none since then has no missing rank, as far as is known here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "aggregator/chunk/child_map.h"
#include "core/time.h"

namespace tributary::aggregator {

class Forming {
 public:
  // Allocates nothing if the job has no switches below.
  explicit Forming(const ChildMap& children);

  // The switch `child` waits for these ranks. Returns false, and changes nothing, if one of them is
  // not below it.
  bool told(std::uint16_t child, std::span<const std::uint32_t> ids, Instant now);
  // True if a rank inside `child` only waits itself, like those that ask: its switch has named
  // other ranks as missing.
  [[nodiscard]] bool waits(std::uint32_t child, std::uint32_t rank, Instant now) const;
  // True if this child has named ranks a moment ago: it is a switch that runs.
  [[nodiscard]] bool speaks(std::uint32_t child, Instant now) const;
  // True if this switch may send its own list up: at most once per kSpacing.
  bool may_speak(Instant now);

  [[nodiscard]] std::size_t table_bytes() const {
    return missing_.capacity() * sizeof(std::uint64_t) + told_at_.capacity() * sizeof(Instant);
  }

 private:
  // Workers repeat JOIN every 100 ms.
  static constexpr Duration kLasts = Duration::ms(500);
  static constexpr Duration kSpacing = Duration::ms(50);

  const ChildMap& children_;
  std::vector<std::uint64_t> missing_;  // by rank: bit r mod 64 of word r / 64
  std::vector<Instant> told_at_;        // by child; Instant(): never
  Instant spoke_at_;
};

}  // namespace tributary::aggregator
