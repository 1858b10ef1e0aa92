// The state of egress ports, by node and port.
//
// A host that sends packets through a sink can have it report any node and port: they are in the
// packet's stack. A switch that lies can report any number of ports of its own. So each port counts
// for the node that told of it first, or for its own node once that has reported it, and where the
// table is full, a new port gets its place from the first of these that has one:
//
//   a node with fewer than an equal share   the node with most ports; those in stacks go first
//   a node that reports a port of its own   its own ones that are in stacks alone
//   any                                     the port of the same kind that was seen longest ago, if
//                                           that was before kLinkAge; own ports replace both kinds
//
// Among these, the port that was seen longest ago makes room. If there is none, the new port is
// refused.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>

#include "core/log_histogram.h"
#include "core/time.h"
#include "telemetry/wire/hop.h"

namespace tributary::telemetry {

// An egress port of a node. Times are in ns; in an EWMA each sample counts an eighth.
struct LinkRecord {
  // From 64 ns to a second, each doubling in four.
  using Latencies = LogHistogram<6, 100, 2>;

  std::uint64_t reports = 0;
  std::uint64_t latency_samples = 0;
  std::uint64_t latency_ewma_ns = 0;
  std::uint32_t latency_most_ns = 0;
  Latencies latencies;
  std::uint32_t utilisation_ppm = kUnknown32;  // latest value, like all that follow
  std::uint32_t queue_occupancy = kUnknown24;
  std::uint64_t dropped = 0;    // packets that reports say were dropped here
  std::uint64_t congested = 0;  // reports with the congestion flag
  Instant born;                 // the first report: a port that made room begins anew
  Instant seen;                 // a report
  Instant sampled;              // a report of a packet
  // By probes: of the link behind the port, one way; kUnknown32: not measured, or no answer.
  std::uint32_t link_ns = kUnknown32;
  Instant link_seen;  // a probe's report

  [[nodiscard]] bool has_latency() const { return latency_samples != 0; }
  [[nodiscard]] std::uint64_t percentile_ns(std::uint64_t percent) const {
    return latencies.percentile(percent, latency_most_ns);
  }
};

struct LinkKey {
  std::uint32_t node = 0;
  std::uint16_t port = 0;
  auto operator<=>(const LinkKey&) const = default;
};

// A port that was not seen for longer makes room where the table is full.
inline constexpr Duration kLinkAge = Duration::seconds(60);

class LinkTable {
 public:
  using Links = std::map<LinkKey, LinkRecord>;

  explicit LinkTable(std::size_t limit) : limit_(limit) {}

  // The record of a port of which node `teller` tells now; null: there is no room. `own`: the port
  // is the teller's.
  LinkRecord* see(LinkKey key, std::uint32_t teller, bool own, Instant now);
  [[nodiscard]] const LinkRecord* find(LinkKey key) const;
  [[nodiscard]] const Links& all() const { return links_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }

 private:
  struct Entry {
    LinkKey key;
    std::uint32_t teller = 0;
  };
  using Order = std::list<Entry>;  // latest first
  struct Place {
    bool own = false;
    Order::iterator at;
  };
  // Ports that count for a node.
  struct Told {
    std::size_t own = 0;
    std::size_t named = 0;
    [[nodiscard]] std::size_t all() const { return own + named; }
  };
  [[nodiscard]] Order& order(bool own) { return own ? own_ : named_; }
  [[nodiscard]] std::size_t& count(std::uint32_t teller, bool own) {
    return own ? told_[teller].own : told_[teller].named;
  }
  void adopt(Place& place);
  bool make_room(std::uint32_t teller, bool own, Instant now);
  [[nodiscard]] std::uint32_t largest() const;
  [[nodiscard]] bool is_aged(const Order& order, Instant now) const;
  void evict(bool own, Order::iterator entry);
  void evict_oldest(bool own, std::uint32_t teller);

  const std::size_t limit_;
  Links links_;
  std::map<LinkKey, Place> places_;     // of the same ports
  std::map<std::uint32_t, Told> told_;  // by node that has told of ports
  Order own_;                           // that their nodes report
  Order named_;                         // in stacks alone
  std::uint64_t refused_ = 0;
  std::uint64_t evicted_ = 0;
};

}  // namespace tributary::telemetry
