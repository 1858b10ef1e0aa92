// The record table: the state of each (node, egress port), the report loss of each reporter, the
// latest path of each flow, and the ends of jobs' ops (C7).
//
// Bounded: 64 reporters a node; link_table.h says which links are refused or make room, and
// flow_table.h which flow does. Links and flows are counted. One thread.
//
// Of packets without INT each hop reports for itself: their flow has the hops that did so within
// kSingleHopAge, in the order in which they came first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "core/time.h"
#include "telemetry/table/flow_table.h"
#include "telemetry/table/link_table.h"
#include "telemetry/table/op_table.h"
#include "telemetry/table/sequence.h"
#include "telemetry/wire/path_of.h"

namespace tributary::telemetry {

struct TableLimits {
  std::size_t links = 4096;
  std::size_t flows = 100'000;
  std::size_t jobs = 1024;
};

// The sender that numbers reports.
struct ReporterKey {
  std::uint32_t node = 0;
  std::uint8_t hardware = 0;
  auto operator<=>(const ReporterKey&) const = default;
};

inline constexpr Duration kSingleHopAge = Duration::seconds(10);

struct TableCounters {
  std::uint64_t reports = 0;
  std::uint64_t malformed = 0;    // datagrams, from where they went wrong
  std::uint64_t bad_packets = 0;  // truncated packets whose stack cannot be
  std::uint64_t refused_links = 0;
  std::uint64_t evicted_links = 0;
  std::uint64_t evicted_flows = 0;
};

class RecordTable {
 public:
  RecordTable(const TableLimits& limits, const Marking& marking);

  // Takes a datagram from a switch that the caller has accepted.
  void take(std::span<const std::byte> datagram, Instant now);

  using Links = LinkTable::Links;
  using Reporters = std::map<ReporterKey, SequenceTracker>;

  [[nodiscard]] const Links& links() const { return links_.all(); }
  [[nodiscard]] const Reporters& reporters() const { return reporters_; }
  [[nodiscard]] const FlowTable& flows() const { return flows_; }
  [[nodiscard]] const OpTable& ops() const { return ops_; }
  [[nodiscard]] const LinkRecord* link(LinkKey key) const { return links_.find(key); }
  [[nodiscard]] TableCounters counters() const;

 private:
  // A report whose flow's memory is on its way from memory.
  struct Waiting {
    Report report;
    ReportedPath path;
    std::uint64_t hash = 0;  // of its flow
  };
  // A datagram of 1,400 bytes has up to ten.
  static constexpr std::size_t kBatch = 10;

  void read(std::uint32_t node, Waiting& waiting);
  void take(const Waiting& waiting, std::uint32_t node, Instant now);
  void take_hop(const Hop& hop, std::uint32_t node, bool own, const Report& report, Instant now);
  void take_flow(const ReportedPath& path, std::uint64_t hash, Instant now);
  static void take_single_hop(FlowPath& flow, const FlowHop& hop, Instant now);

  const Marking marking_;
  LinkTable links_;
  Reporters reporters_;
  FlowTable flows_;
  OpTable ops_;
  std::array<Waiting, kBatch> batch_;
  TableCounters counters_;
};

}  // namespace tributary::telemetry
