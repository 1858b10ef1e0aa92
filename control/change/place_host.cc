#include "control/change/place_host.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "config/change/change.h"
#include "control/show/show_completion.h"
#include "control/text/late_loops.h"
#include "control/text/show_text.h"

namespace tributary::control {
namespace {

// In the order of the ranking: the job's hosts without the root, which is not ranked.
std::vector<std::string> hosts_of(const config::JobConfig& job) {
  std::vector<std::string> hosts = job.completion_hosts;
  std::erase(hosts, config::kRootHost);
  return hosts;
}

completion::HostRanking ranking_of(const config::SwitchConfig& config,
                                   const PlaceHostRequest& wish) {
  const config::JobConfig* const job = config::find_job(config, wish.job);
  const std::string name = "job " + std::to_string(wish.job);
  if (job == nullptr) throw std::invalid_argument(name + " is not configured here");
  if (job->parent)
    throw std::invalid_argument(
        name + ": its root places its completion hosts, and this switch is not that");
  const std::vector<std::string> hosts = hosts_of(*job);
  if (hosts.empty()) throw std::invalid_argument(name + ": has no completion_hosts but the root");
  completion::HostRanking ranking{wish.job,
                                  std::vector<completion::HostRanking::Entry>(hosts.size())};
  const auto entry = [&](const std::string& host) -> completion::HostRanking::Entry& {
    const auto at = std::find(hosts.begin(), hosts.end(), host);
    if (at != hosts.end()) return ranking.hosts[static_cast<std::size_t>(at - hosts.begin())];
    std::string allowed;
    for (const std::string& h : hosts) allowed.append(allowed.empty() ? "" : ", ").append(h);
    throw std::invalid_argument(name + ": has no completion host '" + host +
                                "'; allowed: " + allowed);
  };
  for (const auto& [host, load] : wish.loads) entry(host).load = load;
  for (const std::string& host : wish.candidates) entry(host).shortlisted = true;
  return ranking;
}

}  // namespace

nlohmann::ordered_json place_hosts(dataplane::Switch& sw, const PlaceHostRequest& wish) {
  const auto held = sw.hold();
  struct Outcome {
    completion::HostPlacement placement;
    std::vector<completion::SeatStatus> seats;
  };
  const completion::HostRanking ranking = ranking_of(sw.config(), wish);
  check_in_time(sw, wish.job);
  const auto outcome =
      on_loop(*sw.owners_of(wish.job).front(), [ranking](dataplane::PacketLoop& w, Instant now) {
        const completion::HostPlacement placement = w.place_host(ranking, now);
        const auto* const hosts = w.remote_hosts();
        return Outcome{placement, hosts == nullptr ? std::vector<completion::SeatStatus>{}
                                                   : hosts->status(now)};
      });
  if (!outcome.placement.held)
    throw std::runtime_error("job " + std::to_string(wish.job) +
                             ": its completion hosts are not placed here");
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& seat : outcome.seats)
    if (seat.job == wish.job) rows.push_back(seat_row(seat));
  return {{"moved", outcome.placement.moved}, {"hosts", rows}};
}

}  // namespace tributary::control
