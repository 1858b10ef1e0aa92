// Updates that the lcore with the multicast groups has to tell the others (group_rings.h).
//
// By place: places of the table of groups, then one for each VLAN. An update carries what a place
// holds when the update is sent, not what happened there. A place waits once, however often it
// changes, so the backlog is bounded, and no lcore can miss a change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/frame/mac_index.h"
#include "dataplane/frame/vlan.h"

namespace tributary::dataplane {

// All that one place holds.
struct GroupUpdate {
  std::uint64_t key = 0;      // of mac_key.h; of a VLAN: nothing
  std::uint32_t place = 0;    // behind the groups: a VLAN's
  PortMask ports = 0;         // that want the group; of a VLAN: with routers
  std::uint8_t queriers = 0;  // of a VLAN: querier_bit() of those that speak
};

constexpr std::uint8_t querier_bit(bool ipv6) {
  return ipv6 ? 2 : 1;
}

// Places that have changed, the longest ago first. All memory is taken at construction.
class GroupNews {
 public:
  explicit GroupNews(std::size_t places) : next_(places, kQuiet) {}

  void note(std::uint32_t place) {
    if (next_[place] != kQuiet) return;
    next_[place] = kLast;
    (oldest_ == kLast ? oldest_ : next_[newest_]) = place;
    newest_ = place;
  }
  [[nodiscard]] bool empty() const { return oldest_ == kLast; }
  // Unless there is none.
  std::uint32_t take() {
    const std::uint32_t place = oldest_;
    oldest_ = next_[place];
    next_[place] = kQuiet;
    return place;
  }

 private:
  static constexpr std::uint32_t kLast = kNoEntry;
  static constexpr std::uint32_t kQuiet = kNoEntry - 1;
  std::vector<std::uint32_t> next_;  // by place
  std::uint32_t oldest_ = kLast;
  std::uint32_t newest_ = kLast;  // of use while there is an oldest
};

}  // namespace tributary::dataplane
