#include "tools/telemetryd/link_sampler.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace tributary::telemetryd {
namespace {

using telemetry::LinkRecord;
using Latencies = LinkRecord::Latencies;

// As LogHistogram has it, of counts that are not in one. `most`: the largest value.
std::uint64_t percentile(std::span<const std::uint64_t> counts, std::uint64_t percent,
                         std::uint64_t most) {
  const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  const std::uint64_t wanted = (all * percent + 99) / 100;
  std::uint64_t below = 0;
  for (std::size_t b = 0; b + 1 < counts.size(); ++b) {
    below += counts[b];
    if (below >= wanted) return std::min(Latencies::bound(b), most);
  }
  return most;
}

}  // namespace

void LinkSampler::add_latencies(LinkRow& row, const LinkRecord& link, Before& before) {
  if (link.latency_samples == before.latency_samples) return;
  before.latency_samples = link.latency_samples;
  Counts since{};
  for (std::size_t b = 0; b < since.size(); ++b)
    since[b] = link.latencies.in(b)-std::exchange(before.latencies[b], link.latencies.in(b));
  row.latency_ns = link.latency_ewma_ns;
  row.p50_ns = percentile(since, 50, link.latency_most_ns);
  row.p99_ns = percentile(since, 99, link.latency_most_ns);
}

LinkRow LinkSampler::row_of(const telemetry::LinkKey& key, const LinkRecord& link, Before& before) {
  LinkRow row;
  row.node = key.node;
  row.port = key.port;
  add_latencies(row, link, before);
  if (link.utilisation_ppm != telemetry::kUnknown32) row.utilisation_ppm = link.utilisation_ppm;
  if (link.queue_occupancy != telemetry::kUnknown24) row.queue = link.queue_occupancy;
  row.dropped = link.dropped - std::exchange(before.dropped, link.dropped);
  return row;
}

std::vector<LinkRow> LinkSampler::sample(const telemetry::RecordTable::Links& links) {
  std::vector<LinkRow> rows;
  rows.reserve(links.size());
  std::erase_if(before_, [&links](const auto& one) { return !links.contains(one.first); });
  for (const auto& [key, link] : links) {
    Before& before = before_[key];
    if (before.born != link.born) before = {.born = link.born};
    if (before.reports == link.reports) continue;
    before.reports = link.reports;
    rows.push_back(row_of(key, link, before));
  }
  return rows;
}

}  // namespace tributary::telemetryd
