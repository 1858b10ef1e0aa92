#include "telemetry/table/record_table.h"

#include <algorithm>

#include "telemetry/wire/trailer.h"

namespace tributary::telemetry {
namespace {

constexpr std::uint64_t kEwmaShare = 8;

std::uint64_t averaged(std::uint64_t before, std::uint64_t sample) {
  return before - before / kEwmaShare + sample / kEwmaShare;
}

FlowHop flow_hop(const Hop& hop) {
  return {hop.node, hop.egress_port, hop.latency_ns};
}

bool same_way(const FlowPath& flow, const ReportedPath& path) {
  if (flow.count != path.count) return false;
  for (std::size_t i = 0; i < path.count; ++i) {
    const Hop& hop = path.hops[path.count - 1 - i];
    if (flow.hops[i].node != hop.node || flow.hops[i].egress_port != hop.egress_port) return false;
  }
  return true;
}

}  // namespace

RecordTable::RecordTable(const TableLimits& limits, const Marking& marking)
    : marking_(marking), links_(limits.links), flows_(limits.flows), ops_(limits.jobs) {}

TableCounters RecordTable::counters() const {
  TableCounters all = counters_;
  all.refused_links = links_.refused();
  all.evicted_links = links_.evicted();
  all.evicted_flows = flows_.evicted();
  return all;
}

void RecordTable::take(std::span<const std::byte> datagram, Instant now) {
  ReportReader reader(datagram);
  if (!reader.group()) {
    ++counters_.malformed;
    return;
  }
  const std::uint32_t node = reader.group()->node;
  if (!reporters_[{node, reader.group()->hardware}].note(reader.group()->sequence)) return;
  for (bool more = true; more;) {
    std::size_t there = 0;
    while (there < kBatch && (more = reader.next(batch_[there].report)))
      if (!is_trailer(batch_[there].report)) read(node, batch_[there++]);
    for (std::size_t i = 0; i < there; ++i) take(batch_[i], node, now);
  }
  if (reader.malformed()) ++counters_.malformed;
}

void RecordTable::read(std::uint32_t node, Waiting& waiting) {
  ++counters_.reports;
  const Outcome outcome = path_of(waiting.report, node, marking_, waiting.path);
  if (outcome != Outcome::done && outcome != Outcome::absent) ++counters_.bad_packets;
  if (!waiting.path.has_flow || flows_.limit() == 0) return;
  waiting.hash = flows_.hash_of(waiting.path.flow);
  flows_.prefetch(waiting.hash);
}

void RecordTable::take(const Waiting& waiting, std::uint32_t node, Instant now) {
  const auto& [report, path, hash] = waiting;
  if (const auto end = report.op_end()) ops_.take(*end, node, now);
  const bool has_own = report.type == ReportType::in_band && report.bitmap != 0;
  for (std::size_t i = 0; i < path.count; ++i)
    take_hop(path.hops[i], node, has_own && i == 0, report, now);
  if (path.has_flow && path.count != 0) take_flow(path, hash, now);
}

void RecordTable::take_hop(const Hop& hop, std::uint32_t node, bool own, const Report& report,
                           Instant now) {
  if (hop.node == kUnknown32 || hop.egress_port == kUnknown16) return;
  LinkRecord* const seen = links_.see({hop.node, hop.egress_port}, node, own, now);
  if (seen == nullptr) return;
  LinkRecord& link = *seen;
  ++link.reports;
  if (hop.latency_ns != kUnknown32) {
    link.latency_ewma_ns =
        link.has_latency() ? averaged(link.latency_ewma_ns, hop.latency_ns) : hop.latency_ns;
    ++link.latency_samples;
    link.latency_most_ns = std::max(link.latency_most_ns, hop.latency_ns);
    link.latencies.add(hop.latency_ns);
  }
  if (const auto link_ns = own ? report.link_latency() : std::nullopt) {
    link.link_ns = *link_ns;
    link.link_seen = now;
  } else if (!(own && report.dropped)) {  // which has neither latency nor utilisation
    link.sampled = now;
  }
  if (hop.utilisation_ppm != kUnknown32) link.utilisation_ppm = hop.utilisation_ppm;
  if (hop.queue_occupancy != kUnknown24) link.queue_occupancy = hop.queue_occupancy;
  // Only the reporter's own hop has the report's flags.
  if (own && report.dropped) ++link.dropped;
  if (own && report.congested) ++link.congested;
}

void RecordTable::take_single_hop(FlowPath& flow, const FlowHop& hop, Instant now) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < flow.count; ++i) {
    if (flow.hops[i].node != hop.node && now - flow.seen_at[i] > kSingleHopAge) continue;
    flow.seen_at[kept] = flow.seen_at[i];
    flow.hops[kept++] = flow.hops[i];
  }
  flow.count = kept;
  std::size_t at = 0;
  while (at < kept && flow.hops[at].node != hop.node) ++at;
  if (at == kMostHops) return;
  if (at == kept)
    ++flow.count;
  else if (flow.hops[at].egress_port != hop.egress_port)
    ++flow.changes;
  flow.hops[at] = hop;
  flow.seen_at[at] = now;
}

void RecordTable::take_flow(const ReportedPath& path, std::uint64_t hash, Instant now) {
  if (flows_.limit() == 0) return;
  FlowPath& flow = flows_.see(path.flow, hash);
  if (path.is_single) {
    ++flow.reports;
    flow.seen = now;
    flow.whole = false;
    return take_single_hop(flow, flow_hop(path.hops[0]), now);
  }
  if (flow.reports != 0 && !same_way(flow, path)) ++flow.changes;
  ++flow.reports;
  flow.seen = now;
  flow.whole = path.has_source;
  flow.count = path.count;
  for (std::size_t i = 0; i < path.count; ++i)
    flow.hops[i] = flow_hop(path.hops[path.count - 1 - i]);
}

}  // namespace tributary::telemetry
