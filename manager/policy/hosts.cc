#include "manager/policy/hosts.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "config/text/lift.h"
#include "manager/admission/completion_hosts.h"

namespace tributary::manager {
namespace {

using config::is_among;

constexpr std::uint64_t kLeastMargin = std::uint64_t{1} << 20;

// The load above which a host gives way to one with `load`.
std::uint64_t beyond(std::uint64_t load) {
  return load + load / 4 + kLeastMargin;
}

std::uint32_t kibibytes(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(bytes >> 10, std::numeric_limits<std::uint32_t>::max()));
}

struct Host {
  std::string name;
  std::uint64_t load = 0;
};
using Hosts = std::vector<Host>;

std::vector<std::string> hosts_of(const Job& job) {
  return switch_hosts(job.placed->config);
}

Hosts living(const Job& job, const HostRanking::Look& look) {
  Hosts hosts;
  for (const std::string& name : hosts_of(job))
    if (const auto load = look.loads.find(name); load != look.loads.end())
      hosts.push_back({name, load->second});
  return hosts;
}

const Host& least_of(const Hosts& hosts) {
  return *std::min_element(hosts.begin(), hosts.end(),
                           [](const Host& a, const Host& b) { return a.load < b.load; });
}

// `now`: the choice that stays where another one is not better by the margin.
std::vector<std::string> one_of(const Hosts& hosts, const std::vector<std::string>& now) {
  const Host& least = least_of(hosts);
  for (const Host& host : hosts)
    if (is_among(now, host.name) && host.load <= beyond(least.load)) return {host.name};
  return {least.name};
}

// Those that are on the list stay up to twice the margin.
std::vector<std::string> shortlist_of(const Hosts& hosts, const std::vector<std::string>& now) {
  const std::uint64_t most = beyond(least_of(hosts).load);
  std::vector<std::string> names;
  for (const Host& host : hosts)
    if (host.load <= (is_among(now, host.name) ? beyond(most) : most)) names.push_back(host.name);
  return names;
}

HostOrder order_of(config::HostChoice choice, const Hosts& hosts,
                   const std::vector<std::string>& chosen) {
  if (choice == config::HostChoice::two_stage) return {.candidates = chosen};
  HostOrder order;
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (const Host& host : hosts)
    least = std::min(least, order.loads[host.name] = kibibytes(host.load));
  // One that stays within the margin goes before those with as little.
  for (auto& [name, load] : order.loads)
    if (is_among(chosen, name))
      load = std::min(load, least);
    else if (load == least)
      ++load;
  return order;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string reason_of(const Job& job, const Hosts& hosts, const std::vector<std::string>& chosen) {
  std::string text = job.placed->config.host_choice == config::HostChoice::two_stage
                         ? "the root picks of "
                         : "chunks go to ";
  text += listed(chosen) + ":";
  const char* before = " ";
  for (const std::string& name : hosts_of(job)) {
    const auto at = std::find_if(hosts.begin(), hosts.end(),
                                 [&](const Host& host) { return host.name == name; });
    text += std::exchange(before, ", ") + name +
            (at == hosts.end() ? " is away" : " " + std::to_string(kibibytes(at->load)) + " KiB/s");
  }
  return text;
}

// The host that serves some shard of the job now; empty: none does.
std::string serving(const Job& job, const HostRanking::Look& look) {
  for (const HostSeat& seat : look.seats)
    if (seat.job == job.id && (seat.state == "serving" || seat.state == "asking")) return seat.host;
  return "";
}

}  // namespace

std::optional<HostRanking::Ranked> HostRanking::judge(const Job& job, const Look& look,
                                                      Instant now) {
  const config::HostChoice how = job.placed->config.host_choice;
  const Hosts hosts = living(job, look);
  const auto [at, fresh] = choices_.try_emplace(job.id);
  Choice& choice = at->second;
  if (fresh) choice.since = now;
  if (hosts.empty()) return std::nullopt;
  const auto lives = [&](const std::string& name) {
    return std::any_of(hosts.begin(), hosts.end(),
                       [&](const Host& host) { return host.name == name; });
  };
  if (choice.hosts.empty()) {
    // Which is the best is known when all have told, or some never will.
    if (hosts.size() < hosts_of(job).size() && now - choice.since < kSettle) return std::nullopt;
    if (const std::string host = serving(job, look); lives(host)) {
      choice.hosts = choice.next = {host};
      choice.since = now;
      return std::nullopt;
    }
  }
  const bool lost = !std::all_of(choice.hosts.begin(), choice.hosts.end(), lives);
  const Names best = how == config::HostChoice::two_stage ? shortlist_of(hosts, choice.hosts)
                                                          : one_of(hosts, choice.hosts);
  if (choice.next != best || best == choice.hosts) choice.since = now;
  choice.next = best;
  if (best == choice.hosts) return std::nullopt;
  if (!choice.hosts.empty() && !lost && now - choice.since < kSettle) return std::nullopt;
  choice.hosts = best;
  choice.since = now;
  choice.reason = reason_of(job, hosts, best);
  orders_[job.id] = order_of(how, hosts, best);
  return Ranked{job.request.job.config.name, job.request.tenant, job.id, choice.reason};
}

void HostRanking::forget_all_but(const Admission& admission) {
  std::set<std::uint32_t> ids;
  for (const auto& [name, job] : admission.jobs())
    if (job.placed) ids.insert(job.id);
  std::erase_if(choices_, [&](const auto& choice) { return !ids.contains(choice.first); });
  std::erase_if(orders_, [&](const auto& order) { return !ids.contains(order.first); });
}

std::vector<HostRanking::Ranked> HostRanking::judge(const Admission& admission, const Look& look,
                                                    Instant now) {
  forget_all_but(admission);
  std::vector<Ranked> all;
  for (const auto& [name, job] : admission.jobs()) {
    if (!job.placed || job.request.policy != PolicyOwner::manager ||
        !has_ranked_hosts(job.placed->config))
      continue;
    if (auto ranked = judge(job, look, now)) all.push_back(std::move(*ranked));
  }
  return all;
}

std::string HostRanking::reason(std::uint32_t job) const {
  const auto at = choices_.find(job);
  return at == choices_.end() ? "" : at->second.reason;
}

}  // namespace tributary::manager
