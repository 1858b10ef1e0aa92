#include "sim/check/measurements.h"

#include <algorithm>
#include <cmath>

namespace tributary::sim {

void Direction::add(const LinkTally& link) {
  all.frames += link.frames;
  all.wire_bytes += link.wire_bytes;
  all.data_bytes += link.data_bytes;
  most.frames = std::max(most.frames, link.frames);
  most.wire_bytes = std::max(most.wire_bytes, link.wire_bytes);
  most.data_bytes = std::max(most.data_bytes, link.data_bytes);
}

Duration percentile(const std::vector<Duration>& sorted, double p) {
  if (sorted.empty()) return {};
  const double rank = std::ceil(p / 100 * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

double jain_index(const std::vector<double>& shares) {
  double sum = 0;
  double squares = 0;
  for (const double x : shares) {
    sum += x;
    squares += x * x;
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(shares.size()) * squares);
}

}  // namespace tributary::sim
