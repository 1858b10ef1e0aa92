// The state of egress ports, by node and port.
//
// A host that sends packets through a sink can have it report any node and port: they are in the
// packet's stack. So a port that its own node has reported, from its registered address, has
// precedence over one that is only in stacks:
//
//   full, and its node reports a new port   the port seen longest ago goes, of those in stacks
//   alone full, and there is none, or a stack     the port of the same kind seen longest ago goes,
//   if that
//     names a new port                        was before kLinkAge
//   else                                    the new port is refused
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

  // The record of a port that is seen now; null: there is no room. `own`: its node reports it.
  LinkRecord* see(LinkKey key, bool own, Instant now);
  [[nodiscard]] const LinkRecord* find(LinkKey key) const;
  [[nodiscard]] const Links& all() const { return links_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] std::uint64_t evicted() const { return evicted_; }

 private:
  using Order = std::list<LinkKey>;  // latest first
  struct Place {
    bool own = false;
    Order::iterator at;
  };
  [[nodiscard]] Order& order(bool own) { return own ? own_ : named_; }
  bool make_room(bool own, Instant now);

  const std::size_t limit_;
  Links links_;
  std::map<LinkKey, Place> places_;  // of the same ports
  Order own_;
  Order named_;  // in stacks alone
  std::uint64_t refused_ = 0;
  std::uint64_t evicted_ = 0;
};

}  // namespace tributary::telemetry
