// Rows of suite `ring` that say where the packet loop spent its cycles.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "bench/harness.h"
#include "dataplane/loop/packet_loop.h"

namespace tributary::bench {

class RingStages {
 public:
  explicit RingStages(const dataplane::PacketLoop& loop) : loop_(loop) {}

  // Around what is measured.
  void begin() { before_ = read(); }
  void end(std::size_t packets) {
    const Cycles after = read();
    for (std::size_t s = 0; s < rounds_.size(); ++s)
      rounds_[s].push_back((after[s] - before_[s]) / static_cast<double>(packets));
  }
  // Stages that cost at least a cycle a packet; medians of the rounds. `row` has the case.
  void add_to(Report& report, Row row) const {
    row.reference.clear();
    row.reference_value = row.ratio = 0;
    row.unit = "cycles";
    for (std::size_t s = 0; s < rounds_.size(); ++s) {
      const std::vector<double>& rounds = rounds_[s];
      if (median(rounds) < 1) continue;
      row.metric = std::string("a packet in stage ") + name_of(static_cast<dataplane::Stage>(s));
      row.value = median(rounds);
      row.runs = rounds.size();
      row.min = *std::min_element(rounds.begin(), rounds.end());
      row.max = *std::max_element(rounds.begin(), rounds.end());
      report.add(row);
    }
  }

 private:
  using Cycles = std::array<double, dataplane::kStageCount>;
  [[nodiscard]] Cycles read() const {
    Cycles cycles{};
    for (std::size_t s = 0; s < cycles.size(); ++s) {
      const dataplane::StageCounters& counters = loop_.stages()[s];
      cycles[s] = static_cast<double>(counters.cycles.get() + counters.idle_cycles.get());
    }
    return cycles;
  }

  const dataplane::PacketLoop& loop_;
  Cycles before_{};
  std::array<std::vector<double>, dataplane::kStageCount> rounds_;
};

}  // namespace tributary::bench
