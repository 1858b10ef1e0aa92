#include "manager/admission/admission.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace tributary::manager {

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::refused: return "refused";
    case Outcome::queued: return "queued";
    case Outcome::admitted: return "admitted";
    case Outcome::cancelled: return "cancelled";
    case Outcome::expired: return "expired";
  }
  return "unknown";
}

namespace {

Usage usage_of(const config::TopologyJob& job, const std::map<std::string, Amount>& needs) {
  Usage usage;
  usage.jobs = 1;
  usage.workers = job.config.workers;
  for (const auto& [node, need] : needs) usage.amount += need;
  return usage;
}

Decision decision(Outcome outcome, const Job& job, std::string reason, Instant now) {
  return {.outcome = outcome,
          .job = job.request.job.config.name,
          .tenant = job.request.tenant,
          .id = job.id,
          .reason = std::move(reason),
          .at = now};
}

}  // namespace

Admission::Admission(std::vector<Tenant> tenants, Limits limits)
    : tenants_(std::move(tenants)), limits_(limits), ids_(limits.quarantine) {}

void Admission::set_topology(config::Topology topology) {
  topology_ = std::move(topology);
  capacity_.clear();
  for (const auto& sw : topology_.switches) capacity_[sw.config.name] = capacity_of(sw.config);
}

void Admission::drain(const std::string& worker, bool drained) {
  if (drained)
    drained_.insert(worker);
  else
    drained_.erase(worker);
}

void Admission::cap(const std::string& node, const Amount& capacity) {
  caps_[node] = capacity;
}

Amount Admission::capacity_at(const std::string& node) const {
  const auto at = capacity_.find(node);
  Amount amount = at == capacity_.end() ? Amount{} : at->second;
  if (const auto cap = caps_.find(node); cap != caps_.end()) {
    amount.slots = std::min(amount.slots, cap->second.slots);
    amount.bytes = std::min(amount.bytes, cap->second.bytes);
    amount.completion_bytes = std::min(amount.completion_bytes, cap->second.completion_bytes);
    amount.jobs = std::min(amount.jobs, cap->second.jobs);
  }
  return amount;
}

Amount Admission::used_at(const std::string& node) const {
  const auto at = used_.find(node);
  return at == used_.end() ? Amount{} : at->second;
}

Usage Admission::used_by(const std::string& tenant) const {
  Usage usage;
  for (const auto& [name, job] : jobs_)
    if (job.admitted() && job.request.tenant == tenant) usage += usage_of(*job.placed, job.needs);
  return usage;
}

Amount Admission::total_capacity() const {
  Amount total;
  for (const auto& [node, capacity] : capacity_) total += capacity_at(node);
  return total;
}

std::string Admission::impossible(const JobRequest& request) const {
  const std::string& name = request.job.config.name;
  if (!tenants_.knows(request.tenant))
    return "there is no tenant " + request.tenant + "; allowed: " + tenants_.names();
  if (const auto twice = jobs_.find(name); twice != jobs_.end())
    return "job " + name + " is already " + (twice->second.admitted() ? "running" : "queued") +
           "; allowed: a name that no job has";
  if (std::string leased = leased_member(request); !leased.empty()) return leased;
  const Fit alone = fit(request, {}, {});
  if (!alone.shortage.empty()) return alone.shortage;
  return tenants_.excess(request.tenant, {}, usage_of(alone.placed, alone.needs));
}

std::string Admission::leased_member(const JobRequest& request) const {
  for (const config::TopologyMember& member : request.job.members)
    for (const config::TopologyWorker& worker : topology_.workers)
      if (worker.name == member.worker && !worker.node.empty())
        return "worker " + worker.name + " is a port that containers of node " + worker.node +
               " lease; allowed: a worker without a node";
  return "";
}

// A job that its tenant's quota holds back keeps no place from others.
bool Admission::waits_for_room(const JobRequest& request, const Fit& fit) const {
  return !fit.shortage.empty() ||
         tenants_.excess(request.tenant, used_by(request.tenant), usage_of(fit.placed, fit.needs))
             .empty();
}

Admission::Attempt Admission::admit_now(JobRequest request, const std::string& owner, Instant now) {
  const std::string name = request.job.config.name;
  if (!tenants_.knows(request.tenant))
    return {.shortage = "there is no tenant " + request.tenant + "; allowed: " + tenants_.names()};
  if (jobs_.contains(name)) return {.shortage = "another job is called " + name};
  std::set<std::string> held;
  for (const Job* job : queue()) {
    Fit first = fit(job->request, used_, held);
    if (waits_for_room(job->request, first)) held.merge(first.nodes);
  }
  Fit found = fit_members(request.job, used_, held);
  if (!found.shortage.empty()) return {.shortage = found.shortage, .full = std::move(found.full)};
  const std::string excess =
      tenants_.excess(request.tenant, used_by(request.tenant), usage_of(found.placed, found.needs));
  if (!excess.empty()) return {.shortage = excess};
  Job job;
  job.request = std::move(request);
  job.sequence = next_sequence_++;
  job.owner = owner;
  std::vector<Decision> decisions;
  admit(job, std::move(found), now, decisions);
  if (!job.admitted()) return {.shortage = "waits for " + job.waits_for};
  const std::uint32_t id = job.id;
  jobs_.emplace(name, std::move(job));
  return {.id = id};
}

Decision Admission::submit(JobRequest request, Instant now) {
  Job job;
  job.request = std::move(request);
  const std::string name = job.request.job.config.name;
  std::string why = impossible(job.request);
  const auto waiting = std::count_if(jobs_.begin(), jobs_.end(),
                                     [](const auto& entry) { return !entry.second.admitted(); });
  if (why.empty() && static_cast<std::size_t>(waiting) >= limits_.queue)
    why = std::to_string(waiting) + " jobs wait, which is all that may; submit it later";
  if (!why.empty()) {
    Decision refusal = decision(Outcome::refused, job, why, now);
    refusal.name_taken = jobs_.contains(name);
    return refusal;
  }
  job.sequence = next_sequence_++;
  job.renewed = now;
  job.waits_for = "the next round of admission";
  const Job& queued = jobs_.emplace(name, std::move(job)).first->second;
  return decision(Outcome::queued, queued, queued.waits_for, now);
}

std::optional<Decision> Admission::cancel(const std::string& name, Instant now,
                                          const std::string& reason) {
  const auto at = jobs_.find(name);
  if (at == jobs_.end()) return std::nullopt;
  Decision told = decision(Outcome::cancelled, at->second, reason, now);
  release(at->second, now);
  jobs_.erase(at);
  return told;
}

void Admission::requeue(const std::string& name, Instant now, const std::string& reason) {
  const auto at = jobs_.find(name);
  if (at == jobs_.end()) return;
  release(at->second, now);
  at->second.waits_for = reason;
}

bool Admission::renew(const std::string& name, Instant now) {
  const auto at = jobs_.find(name);
  if (at == jobs_.end()) return false;
  at->second.renewed = now;
  return true;
}

void Admission::release(Job& job, Instant now) {
  if (!job.admitted()) return;
  for (const auto& [node, need] : job.needs) used_[node] -= need;
  ids_.release(job.id, now);
  job.id = 0;
  job.placed.reset();
  job.needs.clear();
}

void Admission::admit(Job& job, Fit fit, Instant now, std::vector<Decision>& decisions) {
  const auto id = ids_.take(now);
  if (!id) {
    job.waits_for = "a job id: all live or rest after their last job";
    return;
  }
  job.id = *id;
  job.renewed = now;
  job.waits_for.clear();
  job.placed = std::move(fit.placed);
  job.placed->config.id = *id;
  job.needs = std::move(fit.needs);
  std::string where;
  for (const auto& [node, need] : job.needs) {
    used_[node] += need;
    where.append(where.empty() ? "fits on " : ", ").append(node);
  }
  decisions.push_back(decision(Outcome::admitted, job, where, now));
}

std::vector<Job*> Admission::queue() {
  const Amount all = total_capacity();
  std::map<std::string, double> shares;
  for (const Tenant& tenant : tenants_.all())
    shares[tenant.name] = tenants_.share(tenant.name, used_by(tenant.name), all);
  std::vector<Job*> waiting;
  for (auto& [name, job] : jobs_)
    if (!job.admitted()) waiting.push_back(&job);
  const auto key = [&](const Job* job) {
    return std::tuple(100 - std::min(job->request.priority, 100u), shares[job->request.tenant],
                      job->sequence);
  };
  std::sort(waiting.begin(), waiting.end(),
            [&](const Job* a, const Job* b) { return key(a) < key(b); });
  return waiting;
}

std::vector<Decision> Admission::advance(Instant now) {
  std::vector<Decision> decisions;
  for (auto at = jobs_.begin(); at != jobs_.end();) {
    const auto& lease = at->second.request.lease;
    if (!at->second.admitted() || !lease || now - at->second.renewed < *lease) {
      ++at;
      continue;
    }
    decisions.push_back(decision(Outcome::expired, at->second, "no member renewed its lease", now));
    release(at->second, now);
    at = jobs_.erase(at);
  }
  std::set<std::string> held;
  // Each admission changes shares, and with them the order.
  for (bool again = true; std::exchange(again, false);) {
    held.clear();
    for (Job* job : queue()) {
      Fit found = fit(job->request, used_, held);
      if (!found.shortage.empty()) {
        job->waits_for = found.shortage;
        held.insert(found.nodes.begin(), found.nodes.end());
        continue;
      }
      job->waits_for = tenants_.excess(job->request.tenant, used_by(job->request.tenant),
                                       usage_of(found.placed, found.needs));
      if (!job->waits_for.empty()) continue;
      admit(*job, std::move(found), now, decisions);
      again = job->admitted();
      if (again) break;
    }
  }
  return decisions;
}

void Admission::restore(Job job, Instant now) {
  const std::string name = job.request.job.config.name;
  if (jobs_.contains(name)) throw std::invalid_argument("job " + name + " is there twice");
  if (job.admitted() && !ids_.restore(job.id))
    throw std::invalid_argument("job " + name + " has the id of another job, " +
                                std::to_string(job.id));
  job.renewed = now;
  for (const auto& [node, need] : job.needs) used_[node] += need;
  next_sequence_ = std::max(next_sequence_, job.sequence + 1);
  jobs_.emplace(name, std::move(job));
}

}  // namespace tributary::manager
