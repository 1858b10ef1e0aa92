// Multicast groups as an lcore that does not keep them knows them: from the last updates.
//
// It keeps no times: the lcore that keeps the groups says when something has ended. All memory is
// taken at construction. One thread owns it: the lcore that forwards.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/net/frame.h"
#include "core/time.h"
#include "dataplane/frame/mac_index.h"
#include "dataplane/multicast/group_news.h"

namespace tributary::dataplane {

class GroupView {
 public:
  // As many groups as the table there has.
  GroupView(std::uint32_t groups, std::uint64_t seed);

  void apply(const GroupUpdate& update);

  // As in GroupKeeper, for which the time matters. nullopt: no port has joined the group.
  [[nodiscard]] std::optional<PortMask> members(const wire::MacAddress& group, std::uint16_t vlan,
                                                Instant) const {
    const std::uint32_t index = entries_.find(mac_key(group, vlan));
    return index != kNoEntry ? std::optional(entries_[index].ports) : std::nullopt;
  }
  [[nodiscard]] PortMask routers(std::uint16_t vlan, Instant) const { return vlans_[vlan].routers; }
  [[nodiscard]] bool has_querier(std::uint16_t vlan, bool ipv6, Instant) const {
    return (vlans_[vlan].queriers & querier_bit(ipv6)) != 0;
  }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t hash_next = kNoEntry;
    PortMask ports = 0;
    std::uint32_t place = kNoEntry;  // in the table there; kNoEntry: free
  };
  struct Vlan {
    PortMask routers = 0;
    std::uint8_t queriers = 0;
  };
  void apply_group(const GroupUpdate& update);

  MacIndex<Entry> entries_;
  std::vector<std::uint32_t> entry_of_;  // by place: where it was, if the entry says so, too
  std::vector<Vlan> vlans_;
};

}  // namespace tributary::dataplane
