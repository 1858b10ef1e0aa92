// Multicast state of a switch, with expiry times: ports that want a group, ports with routers, and
// ports with queriers, per VLAN.
//
// In a switch with several lcores, one lcore owns it and records the updates for the others. A
// lookup ignores expired state at once; the other lcores keep it until expire() finds it. All
// memory is taken at construction. One thread owns it: the lcore that forwards, or the first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/model/switch_config.h"
#include "core/time.h"
#include "dataplane/frame/vlan.h"
#include "dataplane/multicast/group_news.h"
#include "dataplane/multicast/group_rings.h"
#include "dataplane/multicast/group_table.h"

namespace tributary::dataplane {

class GroupKeeper {
 public:
  // `ways`: to the other lcores, if there are any.
  GroupKeeper(std::uint32_t groups, std::uint64_t seed, GroupRings* ways);
  GroupKeeper(const GroupKeeper&) = delete;  // the table has its news
  GroupKeeper& operator=(const GroupKeeper&) = delete;

  [[nodiscard]] GroupTable& table() { return table_; }
  [[nodiscard]] const GroupTable& table() const { return table_; }
  // Notes a query: its querier, and router if it is one, is behind that port.
  void on_query(std::uint16_t port, std::uint16_t vlan, bool ipv6, bool from_router, Instant now,
                Instant until);
  // The peer behind this port has gone. expire() removes the port from its groups step by step.
  void forget(std::uint16_t port);
  // Looks at some of what is known, the next of it at the next call, and tells the others of what
  // they have room for; returns how much has ended.
  std::size_t expire(Instant now);

  [[nodiscard]] std::optional<PortMask> members(const wire::MacAddress& group, std::uint16_t vlan,
                                                Instant now) const {
    return table_.lookup(group, vlan, now);
  }
  // Where routers have been heard; 0: nowhere.
  [[nodiscard]] PortMask routers(std::uint16_t vlan, Instant now) const;
  [[nodiscard]] bool has_querier(std::uint16_t vlan, bool ipv6, Instant now) const {
    return now < queriers_[vlan].until[ipv6 ? 1 : 0];
  }
  // Ports that queries come from: of routers, or of switches that have no address and forward by
  // the reports that they hear. 0: none. All queriers count: a host that poses as one cannot keep
  // reports from a real one, which would hold data back for want of them.
  [[nodiscard]] PortMask queried_through(std::uint16_t vlan, bool ipv6, Instant now) const;
  // Time until the last router expires; zero or less: there is none.
  [[nodiscard]] Duration routers_left(std::uint16_t vlan, Instant now) const;

 private:
  static constexpr std::size_t kLookPerTurn = 4;
  // Others wait for it: at the default sizes all is looked at in 256 turns at most.
  static constexpr std::size_t kLookForOthers = 16;
  // When a port is gone: some tens of microseconds, and at the largest size all in 128 turns.
  static constexpr std::size_t kLookToForget = 512;
  static constexpr int kTellPerTurn = 64;
  struct Queriers {
    std::array<Instant, 2> until{};  // of IGMP, of MLD
  };
  // Which ports have been heard since they are there: of others no time counts.
  struct Heard {
    PortMask routers = 0;
    std::array<PortMask, 2> queriers{};  // of IGMP, of MLD
  };
  // The ports whose time has not come; `until`: the VLAN's times, by port.
  [[nodiscard]] static PortMask still(PortMask ports, const Instant* until, Instant now);
  struct Told {
    PortMask routers = 0;
    std::uint8_t queriers = 0;
    bool operator==(const Told&) const = default;
  };
  [[nodiscard]] static std::size_t first_router(std::uint16_t vlan) {
    return std::size_t{vlan} * config::kMaxPorts;
  }
  [[nodiscard]] static std::size_t first_asked(std::uint16_t vlan, bool ipv6) {
    return (std::size_t{vlan} * 2 + (ipv6 ? 1 : 0)) * config::kMaxPorts;
  }
  [[nodiscard]] std::uint32_t place_of(std::uint16_t vlan) const {
    return table_.capacity() + vlan;
  }
  // Notes the VLAN for the other lcores if what they know of it is out of date.
  void look_at(std::uint16_t vlan, Instant now);
  void tell_others();

  std::vector<Queriers> queriers_;  // by VLAN
  std::vector<Heard> heard_;        // by VLAN
  std::vector<Instant> routers_;    // by VLAN and port: until when there is one
  // By VLAN, IGMP or MLD, and port: until when a querier is there, of any kind.
  std::vector<Instant> asked_until_;
  GroupTable table_;
  // Only with several lcores:
  GroupRings* ways_;
  std::optional<GroupNews> news_;
  std::vector<Told> told_;  // by VLAN
  std::uint16_t next_vlan_ = 0;
};

}  // namespace tributary::dataplane
