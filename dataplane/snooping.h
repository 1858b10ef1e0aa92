// IGMP and MLD snooping (RFC 4541): which ports of its VLAN a frame to a group goes to.
//
//   a query, and what nobody may miss     every port
//   a report                              routers only: hosts would keep silent for each other
//   frames of a group that is wanted      who wants it, and routers
//   frames of a group that nobody wants   every port, or routers only, as configured
//
// Where no querier speaks, nobody repeats reports, and everything goes everywhere. Results of jobs
// go everywhere, too, where they pass another switch: workers need not know IGMP.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "config/switch_config.h"
#include "core/counter.h"
#include "core/time.h"
#include "dataplane/group_message.h"
#include "dataplane/group_table.h"
#include "dataplane/vlan.h"

namespace tributary::dataplane {

class Snooping {
 public:
  Snooping(const config::SwitchConfig& config, std::uint64_t seed);

  // What may be exchanged while it runs. What is known already keeps the time that it was given.
  struct Rules {
    explicit Rules(const config::SwitchConfig& config);
    config::SnoopingConfig config;
    PortMask fixed_routers = 0;
    PortMask hosts = 0;  // where no query may come in
  };
  void swap(Rules& rules) { std::swap(rules_, rules); }

  // Ports that a frame to a group goes to, of all; nullopt: it is malformed.
  std::optional<PortMask> ports_for(std::uint16_t ingress, const wire::EthernetView& frame,
                                    bool linear, std::uint16_t vlan, Instant now);
  std::size_t expire(Instant now) { return groups_.expire(now, kLookPerTurn); }
  // So many ports, or more.
  void use_ports(std::size_t ports) { ports_ = std::max(ports_, ports); }
  // Nobody is behind this port any more.
  void forget(std::uint16_t port);

  [[nodiscard]] const GroupTable& groups() const { return groups_; }
  // Where routers are known to be; 0: nowhere.
  [[nodiscard]] PortMask routers(std::uint16_t vlan, Instant now) const;
  // A row for each VLAN with routers.
  [[nodiscard]] std::vector<GroupRow> router_rows(Instant now) const;
  [[nodiscard]] bool has_querier(std::uint16_t vlan, bool ipv6, Instant now) const;

  // Read by any thread.
  struct Counters {
    Counter queries;
    Counter queries_refused;  // from where there are hosts only
    Counter reports;
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  static constexpr std::size_t kLookPerTurn = 4;
  static constexpr PortMask kAll = ~PortMask{0};
  struct Queriers {
    std::array<Instant, 2> until{};  // of IGMP, of MLD
  };

  void on_query(std::uint16_t ingress, const GroupMessage& query, std::uint16_t vlan, Instant now);
  void on_report(std::uint16_t ingress, const GroupMessage& report, std::uint16_t vlan,
                 Instant now);
  [[nodiscard]] Instant& router_until(std::uint16_t vlan, std::uint16_t port) {
    return routers_[std::size_t{vlan} * config::kMaxPorts + port];
  }

  Rules rules_;
  std::size_t ports_;
  std::vector<Queriers> queriers_;  // by VLAN
  std::vector<Instant> routers_;    // by VLAN and port: until when there is one
  GroupTable groups_;
  Counters counters_;
};

}  // namespace tributary::dataplane
