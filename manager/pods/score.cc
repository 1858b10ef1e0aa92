#include "manager/pods/score.h"

#include <algorithm>
#include <cmath>

namespace tributary::manager {
namespace {

constexpr double kLoadPoints = 100;
constexpr double kPackingPoints = 50;
constexpr int kHopPoints = 10;
constexpr int kOtherLeafPoints = 20;
constexpr unsigned kFarHops = 16;

int rounded(double points) {
  return static_cast<int>(std::lround(points));
}

double device_load(const Node& node, const Ask& ask, const Thresholds& thresholds) {
  double sum = 0;
  double count = 0;
  for (const auto& [kind, wanted] : ask.devices) {
    if (kind == kPortKind) continue;
    std::vector<double> loads;
    for (const std::size_t i : eligible(node, ask, kind, thresholds))
      loads.push_back(node.devices[i].load);
    std::sort(loads.begin(), loads.end());
    loads.resize(std::min<std::size_t>(loads.size(), wanted));
    for (const double load : loads) sum += load;
    count += static_cast<double>(loads.size());
  }
  return count > 0 ? sum / count : 0;
}

// Counts devices of the kinds that the pod asks for, or CPUs.
double used_share(const Node& node, const Ask& ask) {
  if (ask.runs_on_cpus())
    return node.cpu_millis == 0
               ? 0
               : static_cast<double>(node.cpu_millis_used) / static_cast<double>(node.cpu_millis);
  double all = 0;
  double used = 0;
  for (const Device& device : node.devices) {
    if (device.kind == kPortKind || !ask.devices.contains(device.kind)) continue;
    ++all;
    if (!device.claimed_by.empty()) ++used;
  }
  return all > 0 ? used / all : 0;
}

}  // namespace

unsigned Distances::of(const std::string& job, const std::string& leaf) const {
  const auto at = hops.find({job, leaf});
  return at == hops.end() ? kFarHops : std::min(at->second, kFarHops);
}

std::string Score::text(bool pack) const {
  return "score " + std::to_string(points()) + ": load " + std::to_string(load) + ", distance " +
         std::to_string(distance) + ", leaf " + std::to_string(leaf) +
         (pack ? ", pack " : ", spread ") + std::to_string(packing);
}

Score score(const Node& node, const Ask& ask, const std::string& leaf, const Distances& distances,
            const Thresholds& thresholds) {
  Score found;
  found.load = rounded(kLoadPoints *
                       (ask.runs_on_cpus() ? node.cpu_load : device_load(node, ask, thresholds)));
  if (!ask.job.empty())
    found.distance = kHopPoints * static_cast<int>(distances.of(ask.job, node.leaf));
  if (!leaf.empty() && node.leaf != leaf) found.leaf = kOtherLeafPoints;
  const double used = used_share(node, ask);
  found.packing = rounded(kPackingPoints * (ask.pack ? 1 - used : used));
  return found;
}

}  // namespace tributary::manager
