// Rows of the history: the state of each link, and what was reported of it since the last row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "telemetry/table/record_table.h"

namespace tributary::telemetryd {

struct LinkRow {
  std::uint32_t node = 0;
  std::uint16_t port = 0;
  std::optional<std::uint64_t> latency_ns;  // EWMA
  std::optional<std::uint64_t> p50_ns;      // of the time since the last row, like p99
  std::optional<std::uint64_t> p99_ns;
  std::optional<std::uint64_t> utilisation_ppm;
  std::optional<std::uint64_t> queue;
  std::uint64_t dropped = 0;  // since the last row
};

class LinkSampler {
 public:
  // A row of each link that was reported since the last call.
  std::vector<LinkRow> sample(const telemetry::RecordTable::Links& links);
  // Links of the last call.
  [[nodiscard]] std::size_t remembered() const { return before_.size(); }

 private:
  using Counts = std::array<std::uint64_t, telemetry::LinkRecord::Latencies::kBuckets>;
  struct Before {
    Instant born = {};
    std::uint64_t reports = 0;
    std::uint64_t latency_samples = 0;
    std::uint64_t dropped = 0;
    Counts latencies{};
  };
  static LinkRow row_of(const telemetry::LinkKey& key, const telemetry::LinkRecord& link,
                        Before& before);
  static void add_latencies(LinkRow& row, const telemetry::LinkRecord& link, Before& before);

  std::map<telemetry::LinkKey, Before> before_;  // of links in the table
};

}  // namespace tributary::telemetryd
