// IGMP and MLD snooping (RFC 4541): which ports of its VLAN a frame to a group goes to.
//
//   a query, and what nobody may miss     every port
//   a report                              routers only: hosts would keep silent for each other
//   frames of a group that is wanted      who wants it, and routers
//   frames of a group that nobody wants   every port, or routers only, as configured
//
// Where no querier speaks, nobody repeats reports, and everything goes everywhere. Results of jobs
// go everywhere, too, where they pass another switch: workers need not know IGMP.
//
// Of several lcores each has one of these. The first keeps what there is to know (group_keeper.h);
// the others send messages there, and know what they are told (group_view.h, group_ways.h).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "config/switch_config.h"
#include "core/counter.h"
#include "core/time.h"
#include "dataplane/group_keeper.h"
#include "dataplane/group_message.h"
#include "dataplane/group_view.h"
#include "dataplane/group_ways.h"
#include "dataplane/vlan.h"

namespace tributary::dataplane {

class Snooping {
 public:
  // What becomes of a frame to a group.
  enum class Way : std::uint8_t { ports, malformed, keeper };

  Snooping(const config::SwitchConfig& config, std::uint64_t seed, const GroupEnd& end = {});

  // What may be exchanged while it runs. What is known already keeps the time that it was given.
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
  // So many ports, or more.
  void use_ports(std::size_t ports) {
    if (keeper_) keeper_->use_ports(ports);
  }
  // Nobody is behind this port any more. Who does not keep groups is told.
  void forget(std::uint16_t port) {
    if (keeper_) keeper_->forget(port);
  }
  // Of who does not keep groups:
  void apply(const GroupUpdate& update) { view_->apply(update); }

  // Of who keeps them: the only lcore, or the first.
  [[nodiscard]] const GroupTable& groups() const { return keeper_->table(); }
  // A row for each VLAN with routers.
  [[nodiscard]] std::vector<GroupRow> router_rows(Instant now) const;
  // Of any lcore. Where routers are known to be; 0: nowhere.
  [[nodiscard]] PortMask routers(std::uint16_t vlan, Instant now) const;
  [[nodiscard]] bool has_querier(std::uint16_t vlan, bool ipv6, Instant now) const;
  // nullopt: nobody is known to want it.
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

  PortMask on_message(std::uint16_t ingress, const GroupMessage& message, std::uint16_t vlan,
                      Instant now);
  // Of what is no message, by what a keeper or a view knows.
  template <typename Known>
  [[nodiscard]] PortMask of_group(const Known& known, const wire::MacAddress& group,
                                  std::uint16_t vlan, Instant now) const;
  void on_query(std::uint16_t ingress, const GroupMessage& query, std::uint16_t vlan, Instant now);
  void on_report(std::uint16_t ingress, const GroupMessage& report, std::uint16_t vlan,
                 Instant now);

  Rules rules_;
  std::optional<GroupKeeper> keeper_;
  std::optional<GroupView> view_;  // where there is no keeper
  Counters counters_;
};

}  // namespace tributary::dataplane
