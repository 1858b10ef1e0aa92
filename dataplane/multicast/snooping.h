// IGMP and MLD snooping (RFC 4541): which ports of its VLAN a frame to a group goes to.
//
//   a query, and groups always flooded    every port
//   a report                              routers only: hosts would keep silent for each other
//   frames of a group that is wanted      ports that want it, and routers
//   frames of a group that no port wants  every port, or routers only, as configured
//
// A port may name kGroupsPerSecond groups a second, and as many at once: what is beyond that is not
// looked into. A host sends all that it wants in one go (RFC 3376 section 5.2), up to a thousand
// records in a large frame; each is a look at the table of groups. A report that is dropped is as
// one that the network has lost: a change is said twice, the rest at every query.
//
// Where no querier speaks, hosts do not repeat reports, and everything goes everywhere. Results of
// jobs go everywhere, too, where they pass another switch: workers need not know IGMP.
//
// Each of several lcores has one of these. The first keeps the groups (group_keeper.h); the others
// send messages to it, and know what it tells them (group_view.h, group_rings.h).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "config/model/switch_config.h"
#include "core/counter.h"
#include "core/time.h"
#include "dataplane/frame/token_bucket.h"
#include "dataplane/frame/vlan.h"
#include "dataplane/multicast/group_keeper.h"
#include "dataplane/multicast/group_message.h"
#include "dataplane/multicast/group_rings.h"
#include "dataplane/multicast/group_view.h"

namespace tributary::dataplane {

class Snooping {
 public:
  // The decision about a frame to a group.
  enum class Way : std::uint8_t { ports, malformed, beyond_limit, keeper };
  // Limit of each port. Twice what the default table holds: a port that joins all of it may say so
  // twice within a second.
  static constexpr std::uint32_t kGroupsPerSecond = 2048;

  Snooping(const config::SwitchConfig& config, std::uint64_t seed, const GroupEnd& end = {});

  // The part that may be exchanged at run time. Known groups and routers keep their expiry times.
  struct Rules {
    explicit Rules(const config::SwitchConfig& config);
    config::SnoopingConfig config;
    PortMask fixed_routers = 0;
    PortMask hosts = 0;  // where no query may come in
  };
  void swap(Rules& rules) { std::swap(rules_, rules); }

  // Where a frame to a group goes: to these ports, of all; nowhere, or as a message to the keeper.
  Way way_of(std::uint16_t ingress, const wire::EthernetView& frame, bool linear,
             std::uint16_t vlan, Instant now, PortMask& to);
  // With several lcores, tells the others what is new, too.
  std::size_t expire(Instant now) { return keeper_ ? keeper_->expire(now) : 0; }
  // The peer behind this port has gone. An lcore that keeps no groups gets updates instead.
  void forget(std::uint16_t port) {
    if (keeper_) keeper_->forget(port);
  }
  // Only on an lcore that does not keep groups:
  void apply(const GroupUpdate& update) { view_->apply(update); }

  // Only on the lcore that keeps groups: the only one, or the first.
  [[nodiscard]] const GroupTable& groups() const { return keeper_->table(); }
  // A row for each VLAN with routers, whose group is the zero address, and for each wanted group. A
  // piece at a time, as GroupTable::rows(); only on the lcore that keeps groups.
  void rows(std::uint32_t& place, std::uint32_t looks, Instant now,
            std::vector<GroupRow>& into) const;
  [[nodiscard]] std::uint32_t row_places() const { return kFirstGroup + groups().capacity(); }
  // On any lcore. Ports with known routers; 0: none.
  [[nodiscard]] PortMask routers(std::uint16_t vlan, Instant now) const;
  [[nodiscard]] bool has_querier(std::uint16_t vlan, bool ipv6, Instant now) const;
  // nullopt: no port is known to want it.
  [[nodiscard]] std::optional<PortMask> members(const wire::MacAddress& group, std::uint16_t vlan,
                                                Instant now) const;

  // Read by any thread.
  struct Counters {
    Counter queries;
    Counter queries_refused;  // from where there are hosts only
    Counter reports;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  static constexpr PortMask kAll = ~PortMask{0};
  static constexpr std::uint32_t kFirstGroup = kVlanIds;  // places of rows(): behind the VLANs

  Way way_of_message(std::uint16_t ingress, const GroupMessage& message, std::uint16_t vlan,
                     Instant now, PortMask& to);
  void add_router_row(std::uint16_t vlan, Instant now, std::vector<GroupRow>& into) const;
  PortMask on_message(std::uint16_t ingress, const GroupMessage& message, std::uint16_t vlan,
                      Instant now);
  // Egress ports of a frame that is no IGMP or MLD message, by a keeper or a view.
  template <typename Known>
  [[nodiscard]] PortMask of_group(const Known& known, const wire::MacAddress& group,
                                  std::uint16_t vlan, Instant now) const;
  void on_query(std::uint16_t ingress, const GroupMessage& query, std::uint16_t vlan, Instant now);
  void on_report(std::uint16_t ingress, const GroupMessage& report, std::uint16_t vlan,
                 Instant now);

  Rules rules_;
  std::optional<GroupKeeper> keeper_;
  std::optional<GroupView> view_;  // where there is no keeper
  // By port. A message that goes to the keeper is charged for here, so that its way is not full of
  // what is of no use, and there, where all that came through the port is together.
  std::vector<TokenBucket> budgets_{config::kMaxPorts, {kGroupsPerSecond, kGroupsPerSecond}};
  Counters counters_;
};

}  // namespace tributary::dataplane
