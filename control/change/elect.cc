#include "control/change/elect.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "config/change/change.h"
#include "control/show/show_hosting.h"
#include "control/text/late_loops.h"
#include "control/text/show_text.h"

namespace tributary::control {
namespace {

// In the order of the ballot: the job's hosts without the root, which is not voted on.
std::vector<std::string> hosts_of(const config::JobConfig& job) {
  std::vector<std::string> hosts = job.completion_hosts;
  std::erase(hosts, config::kRootHost);
  return hosts;
}

completion::Ballot ballot_of(const config::SwitchConfig& config, const ElectRequest& wish) {
  const config::JobConfig* const job = config::find_job(config, wish.job);
  const std::string name = "job " + std::to_string(wish.job);
  if (job == nullptr) throw std::invalid_argument(name + " is not configured here");
  if (job->parent)
    throw std::invalid_argument(name + ": its root elects, and this switch is not that");
  const std::vector<std::string> hosts = hosts_of(*job);
  if (hosts.empty()) throw std::invalid_argument(name + ": has no completion_hosts but the root");
  completion::Ballot ballot{wish.job, std::vector<completion::Ballot::Entry>(hosts.size())};
  const auto entry = [&](const std::string& host) -> completion::Ballot::Entry& {
    const auto at = std::find(hosts.begin(), hosts.end(), host);
    if (at != hosts.end()) return ballot.hosts[static_cast<std::size_t>(at - hosts.begin())];
    std::string allowed;
    for (const std::string& h : hosts) allowed.append(allowed.empty() ? "" : ", ").append(h);
    throw std::invalid_argument(name + ": has no completion host '" + host +
                                "'; allowed: " + allowed);
  };
  for (const auto& [host, load] : wish.loads) entry(host).load = load;
  for (const std::string& host : wish.candidates) entry(host).shortlisted = true;
  return ballot;
}

}  // namespace

nlohmann::ordered_json elect_hosts(dataplane::Switch& sw, const ElectRequest& wish) {
  const auto held = sw.hold();
  struct Outcome {
    completion::Election election;
    std::vector<completion::SeatStatus> seats;
  };
  const completion::Ballot ballot = ballot_of(sw.config(), wish);
  check_in_time(sw, wish.job);
  const auto outcome =
      on_loop(*sw.owners_of(wish.job).front(), [ballot](dataplane::Worker& w, Instant now) {
        const completion::Election election = w.elect(ballot, now);
        const auto* const hosts = w.remote_hosts();
        return Outcome{election, hosts == nullptr ? std::vector<completion::SeatStatus>{}
                                                  : hosts->status(now)};
      });
  if (!outcome.election.held)
    throw std::runtime_error("job " + std::to_string(wish.job) + ": nobody elects for it here");
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& seat : outcome.seats)
    if (seat.job == wish.job) rows.push_back(seat_row(seat));
  return {{"moved", outcome.election.moved}, {"hosts", rows}};
}

}  // namespace tributary::control
