// The queue: whose turn it is, who keeps room from whom, and who has room now.
#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "manager/admission/admission.h"
#include "manager/admission/completion_hosts.h"

namespace tributary::manager {
namespace {

constexpr std::uint32_t kHighestPriority = 100;

}  // namespace

// A job that its tenant's quota holds back keeps no room from others, even if it lacks room, too.
std::string Admission::excess_of(const Job& job, const Fit& fit) const {
  return tenants_.excess(job.request.tenant, used_by(job.request.tenant),
                         usage_of(job.request.job.config.workers, fit.needs));
}

void Admission::stir() {
  news_ = true;
  for (auto& [name, job] : jobs_) job.turn.done = false;
}

// By priority, the highest first.
Admission::Queue Admission::queue() {
  Queue lines;
  for (auto& [name, job] : jobs_)
    if (!job.admitted())
      lines[std::min(job.request.priority, kHighestPriority)][job.request.tenant].push_back(
          {job.sequence, &job});
  // The last is the next.
  for (auto& [priority, line] : lines)
    for (auto& [tenant, jobs] : line)
      std::sort(jobs.begin(), jobs.end(),
                [](const Queued& a, const Queued& b) { return a.sequence > b.sequence; });
  return lines;
}

void Admission::expire(Instant now, std::vector<Decision>& decisions) {
  bool any = false;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    Job& job = at->second;
    const auto& lease = job.request.lease;
    if (!job.admitted() || !lease || now - job.renewed < *lease) {
      ++at;
      continue;
    }
    decisions.push_back({.outcome = Outcome::expired,
                         .job = at->first,
                         .tenant = job.request.tenant,
                         .id = job.id,
                         .reason = "no member renewed its lease",
                         .at = now});
    release(job, now);
    changes_.insert(at->first);
    at = jobs_.erase(at);
    any = true;
  }
  if (any) stir();
}

// Visits the jobs that wait in their order. `visit` says whether it has changed its tenant's share,
// and with it the order of those that come. True: it has, once at least.
template <typename Visit>
bool Admission::in_order(Visit visit) {
  const Amount all = amounts_.total_capacity();
  std::map<std::string, double> shares;
  for (const Tenant& tenant : tenants_.all())
    shares[tenant.name] = tenants_.share(tenant.name, used_by(tenant.name), all);
  bool any = false;
  for (auto& [priority, line] : queue())
    while (!line.empty()) {
      const auto key = [&](const auto& turn) {
        return std::pair(shares[turn.first], turn.second.back().sequence);
      };
      const auto next = std::min_element(
          line.begin(), line.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
      Job& job = *next->second.back().job;
      next->second.pop_back();
      if (visit(job)) {
        any = true;
        shares[next->first] = tenants_.share(next->first, used_by(next->first), all);
      }
      if (next->second.empty()) line.erase(next);
    }
  return any;
}

// True: it has admitted a job.
bool Admission::pass(Instant now, std::vector<Decision>& decisions) {
  Names held;
  return in_order([&](Job& job) { return look_at(job, held, now, decisions); });
}

// True: it is admitted.
bool Admission::look_at(Job& job, Names& held, Instant now, std::vector<Decision>& decisions) {
  if (job.turn.done) {
    held.insert(job.turn.holds.begin(), job.turn.holds.end());
    return false;
  }
  Fit found =
      fitter().fit(job.request.job, job.turn.needs, {.used = amounts_.used(), .held = held});
  job.turn.done = true;
  job.turn.held_back = found.held_back;
  job.turn.holds.clear();
  if (const std::string excess = excess_of(job, found); !excess.empty()) {
    job.waits_for = found.shortage.empty() ? excess : found.shortage + "; " + excess;
    return false;
  }
  if (!found.shortage.empty()) {
    job.waits_for = found.shortage;
    held.insert(found.nodes.begin(), found.nodes.end());
    job.turn.holds = std::move(found.nodes);
    return false;
  }
  admit(job, std::move(found), now, decisions);
  if (!job.admitted()) {
    job.turn.done = false;  // time alone gives it an id
    news_ = true;
    return false;
  }
  places_.give_back(job.request.tenant);
  return true;
}

std::vector<Decision> Admission::advance(Instant now) {
  std::vector<Decision> decisions;
  expire(now, decisions);
  if (!std::exchange(news_, false)) return decisions;
  // Each admission changes shares, and with them the order: what a job before it held back may be
  // before that one now.
  while (pass(now, decisions)) {
    bool again = false;
    for (auto& [name, job] : jobs_)
      if (!job.admitted() && job.turn.done && job.turn.held_back) {
        job.turn.done = false;
        again = true;
      }
    if (!again) break;
  }
  return decisions;
}

Admission::Attempt Admission::admit_now(JobRequest request, const std::string& owner, Instant now) {
  const std::string name = request.job.config.name;
  if (!tenants_.knows(request.tenant))
    return {.shortage = "there is no tenant " + request.tenant + "; allowed: " + tenants_.names()};
  if (jobs_.contains(name)) return {.shortage = "another job is called " + name};
  if (std::string wrong = wrong_host(request.job, topology_); !wrong.empty())
    return {.shortage = std::move(wrong)};
  Names held;
  Job job;
  job.request = std::move(request);
  job.owner = owner;
  in_order([&](Job& first) {
    if (first.turn.done) {
      held.insert(first.turn.holds.begin(), first.turn.holds.end());
      return false;
    }
    Fit place =
        fitter().fit(first.request.job, first.turn.needs, {.used = amounts_.used(), .held = held});
    if (excess_of(first, place).empty()) held.merge(place.nodes);
    return false;
  });
  Fit found =
      fitter().fit(job.request.job, job.turn.needs, {.used = amounts_.used(), .held = held});
  if (!found.shortage.empty()) return {.shortage = found.shortage, .full = std::move(found.full)};
  if (std::string excess = excess_of(job, found); !excess.empty())
    return {.shortage = std::move(excess)};
  job.sequence = next_sequence_++;
  std::vector<Decision> decisions;
  admit(job, std::move(found), now, decisions);
  if (!job.admitted()) return {.shortage = "waits for " + job.waits_for};
  const std::uint32_t id = job.id;
  jobs_.emplace(name, std::move(job));
  return {.id = id};
}

}  // namespace tributary::manager
