// The record table: what is known of each (node, egress port), of the reports of each node, and the
// latest path of each flow (C7).
//
// Bounded: nodes and links are refused beyond their limit, of flows the least recently seen one
// makes room; both are counted. A flow takes about 300 bytes. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <unordered_map>

#include "core/log_histogram.h"
#include "core/time.h"
#include "telemetry/table/sequence.h"
#include "telemetry/wire/path_of.h"

namespace tributary::telemetry {

struct TableLimits {
  std::size_t nodes = 1024;
  std::size_t links = 4096;
  std::size_t flows = 100'000;
};

// An egress port of a node. Times in ns; of an EWMA each sample counts an eighth.
struct LinkRecord {
  // From 64 ns to a second, each doubling in four.
  using Latencies = LogHistogram<6, 100, 2>;

  std::uint64_t reports = 0;
  std::uint64_t latency_samples = 0;
  std::uint64_t latency_ewma_ns = 0;
  std::uint32_t latency_most_ns = 0;
  Latencies latencies;
  std::uint32_t utilisation_ppm = kUnknown32;  // latest, as all that follows
  std::uint32_t queue_occupancy = kUnknown24;
  std::uint64_t dropped = 0;    // packets that reports say were dropped here
  std::uint64_t congested = 0;  // reports with the congestion flag
  Instant seen;

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

struct FlowHop {
  std::uint32_t node = 0;
  std::uint16_t egress_port = 0;
  std::uint32_t latency_ns = kUnknown32;
  bool operator==(const FlowHop&) const = default;
};
struct FlowPath {
  FlowKey key;
  std::array<FlowHop, kMostHops> hops;  // from the source on
  std::size_t count = 0;
  bool whole = false;  // from the INT source on
  std::uint64_t reports = 0;
  std::uint64_t changes = 0;  // of nodes or ports
  Instant seen;
};

struct TableCounters {
  std::uint64_t reports = 0;
  std::uint64_t malformed = 0;    // datagrams, from where they went wrong
  std::uint64_t bad_packets = 0;  // truncated packets whose stack cannot be
  std::uint64_t refused_nodes = 0;
  std::uint64_t refused_links = 0;
  std::uint64_t evicted_flows = 0;
};

class RecordTable {
 public:
  RecordTable(const TableLimits& limits, const Marking& marking);

  // A datagram of a switch that the caller has let in.
  void take(std::span<const std::byte> datagram, Instant now);

  using Links = std::map<LinkKey, LinkRecord>;
  using Nodes = std::map<std::uint32_t, SequenceTracker>;  // node; of all its hardware ids alike
  using Flows = std::list<FlowPath>;                       // latest first

  [[nodiscard]] const Links& links() const { return links_; }
  [[nodiscard]] const Nodes& nodes() const { return nodes_; }
  [[nodiscard]] const Flows& flows() const { return flows_; }
  [[nodiscard]] const LinkRecord* link(LinkKey key) const;
  [[nodiscard]] const FlowPath* flow(const FlowKey& key) const;
  [[nodiscard]] const TableCounters& counters() const { return counters_; }

 private:
  struct Hash {
    std::size_t operator()(const FlowKey& key) const;
  };

  void take(const Report& report, std::uint32_t node, Instant now);
  void take_hop(const Hop& hop, bool own, const Report& report, Instant now);
  void take_flow(const ReportedPath& path, Instant now);
  FlowPath& flow_of(const FlowKey& key);

  const TableLimits limits_;
  const Marking marking_;
  Links links_;
  Nodes nodes_;
  Flows flows_;
  std::unordered_map<FlowKey, Flows::iterator, Hash> by_key_;
  TableCounters counters_;
};

}  // namespace tributary::telemetry
