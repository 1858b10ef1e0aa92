#include "dataplane/bridge/storm.h"

#include <algorithm>

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kLeastBurst = 32;
constexpr std::uint32_t kBurstsPerSecond = 10;

}  // namespace

StormControl::StormControl(const std::vector<config::PortConfig>& ports) : buckets_(ports.size()) {
  for (std::size_t port = 0; port < ports.size(); ++port) {
    const config::PortStorm& limits = ports[port].storm;
    const auto limit = [&](Flooded kind, std::uint32_t pps) {
      if (pps == 0) return;
      idle_ = false;
      buckets_[port][static_cast<std::size_t>(kind)].emplace(
          pps, std::max(kLeastBurst, pps / kBurstsPerSecond));
    };
    limit(Flooded::broadcast, limits.broadcast_pps);
    limit(Flooded::multicast, limits.multicast_pps);
    limit(Flooded::unknown_unicast, limits.unknown_unicast_pps);
  }
}

}  // namespace tributary::dataplane
