#include "manager/admission/admission.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "manager/admission/completion_hosts.h"
#include "manager/admission/stray.h"

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

Amount least_of(const Amount& a, const Amount& b) {
  return {.slots = std::min(a.slots, b.slots),
          .bytes = std::min(a.bytes, b.bytes),
          .completion_bytes = std::min(a.completion_bytes, b.completion_bytes),
          .jobs = std::min(a.jobs, b.jobs),
          .hosted_bytes = std::min(a.hosted_bytes, b.hosted_bytes)};
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
  index_ = TreeIndex(topology_);
  capacity_.clear();
  for (const auto& sw : topology_.switches) capacity_[sw.config.name] = capacity_of(sw.config);
  count_free_workers();
  jobs_of_worker_.assign(topology_.workers.size(), 0);
  for (auto& [name, job] : jobs_) {
    job.turn.needs.reset();
    if (job.placed) count(job, true);
  }
  stir();
}

void Admission::begin_move(config::Topology before, std::string text) {
  TreeIndex index(before);
  before_.emplace(Before{std::move(before), std::move(index), std::move(text)});
}

void Admission::end_move() {
  before_.reset();
  for (auto& [name, job] : jobs_) job.needs_before.clear();
  stir();
}

void Admission::count_free_workers() {
  free_.assign(topology_.workers.size(), false);
  free_at_.assign(index_.sites().size(), 0);
  for (std::size_t worker = 0; worker < topology_.workers.size(); ++worker) {
    const config::TopologyWorker& one = topology_.workers[worker];
    free_[worker] = one.node.empty() && !drained_.contains(one.name);
    if (const auto site = index_.site_of(worker); site && free_[worker]) ++free_at_[*site];
  }
}

void Admission::drain(const std::string& worker, bool drained) {
  if (drained == drained_.contains(worker)) return;
  if (drained)
    drained_.insert(worker);
  else
    drained_.erase(worker);
  const auto at = index_.worker_at(worker);
  if (at && topology_.workers[*at].node.empty()) {
    free_[*at] = !drained;
    if (const auto site = index_.site_of(*at)) drained ? --free_at_[*site] : ++free_at_[*site];
  }
  stir();
}

void Admission::cap(const std::string& node, const Amount& capacity) {
  caps_[node] = capacity;
  refused_.erase(node);
  stir();
}

void Admission::refuse(const std::string& node) {
  refused_[node] = used_at(node);
  stir();  // shares are of the capacity
}

void Admission::forgive(const std::string& node) {
  if (refused_.erase(node) > 0) stir();
}

Amount Admission::room_of(const std::string& node, bool despite_refusal) const {
  const auto at = capacity_.find(node);
  Amount amount = at == capacity_.end() ? Amount{} : at->second;
  if (const auto cap = caps_.find(node); cap != caps_.end()) amount = least_of(amount, cap->second);
  if (const auto cap = refused_.find(node); !despite_refusal && cap != refused_.end())
    amount = least_of(amount, cap->second);
  return amount;
}

Amount Admission::capacity_at(const std::string& node) const {
  return room_of(node, false);
}

Amount Admission::used_at(const std::string& node) const {
  const auto at = used_.find(node);
  return at == used_.end() ? Amount{} : at->second;
}

Usage Admission::used_by(const std::string& tenant) const {
  const auto at = usage_.find(tenant);
  return at == usage_.end() ? Usage{} : at->second;
}

Amount Admission::total_capacity() const {
  Amount total;
  for (const auto& [node, capacity] : capacity_) total += capacity_at(node);
  return total;
}

std::string Admission::impossible(Job& job) const {
  const JobRequest& request = job.request;
  const std::string& name = request.job.config.name;
  if (!tenants_.knows(request.tenant))
    return "there is no tenant " + request.tenant + "; allowed: " + tenants_.names();
  if (const auto twice = jobs_.find(name); twice != jobs_.end())
    return "job " + name + " is already " + (twice->second.admitted() ? "running" : "queued") +
           "; allowed: a name that no job has";
  if (std::string leased = leased_member(request); !leased.empty()) return leased;
  if (std::string wrong = wrong_host(request.job, topology_); !wrong.empty()) return wrong;
  const Fit alone = fit(job, {.used = {}, .held = {}, .despite_refusal = true});
  if (!alone.shortage.empty()) return alone.shortage;
  return tenants_.excess(request.tenant, {}, usage_of(alone.placed.config.workers, alone.needs));
}

std::string Admission::leased_member(const JobRequest& request) const {
  for (const config::TopologyMember& member : request.job.members) {
    const auto at = index_.worker_at(member.worker);
    if (!at || topology_.workers[*at].node.empty()) continue;
    return "worker " + member.worker + " is a port that containers of node " +
           topology_.workers[*at].node + " lease; allowed: a worker without a node";
  }
  return "";
}

Decision Admission::submit(JobRequest request, Instant now) {
  Job job;
  job.request = std::move(request);
  const std::string name = job.request.job.config.name;
  std::string why = impossible(job);
  if (why.empty()) why = no_place_for(job.request.tenant);
  if (!why.empty()) {
    Decision refusal = decision(Outcome::refused, job, why, now);
    refusal.name_taken = jobs_.contains(name);
    return refusal;
  }
  job.sequence = next_sequence_++;
  job.renewed = now;
  job.waits_for = "the next round of admission";
  ++waiting_[job.request.tenant];
  changes_.insert(name);
  news_ = true;
  const Job& queued = jobs_.emplace(name, std::move(job)).first->second;
  return decision(Outcome::queued, queued, queued.waits_for, now);
}

std::optional<Decision> Admission::cancel(const std::string& name, Instant now,
                                          const std::string& reason) {
  const auto at = jobs_.find(name);
  if (at == jobs_.end()) return std::nullopt;
  Decision told = decision(Outcome::cancelled, at->second, reason, now);
  if (at->second.admitted())
    release(at->second, now);
  else
    --waiting_[at->second.request.tenant];
  jobs_.erase(at);
  changes_.insert(name);
  stir();
  return told;
}

void Admission::requeue(const std::string& name, Instant now, const std::string& reason) {
  const auto at = jobs_.find(name);
  if (at == jobs_.end() || !at->second.admitted()) return;
  release(at->second, now);
  ++waiting_[at->second.request.tenant];
  at->second.waits_for = reason;
  changes_.insert(name);
  stir();
}

bool Admission::renew(const std::string& name, Instant now) {
  const auto at = jobs_.find(name);
  if (at == jobs_.end()) return false;
  at->second.renewed = now;
  return true;
}

void Admission::count(const Job& job, bool more) {
  for (const config::TopologyMember& member : job.placed->members)
    if (const auto worker = index_.worker_at(member.worker))
      more ? ++jobs_of_worker_[*worker] : --jobs_of_worker_[*worker];
}

void Admission::release(Job& job, Instant now) {
  for (const auto& [node, need] : job.needs) used_[node] -= need;
  for (const auto& [node, need] : job.needs_before) before_->used[node] -= need;
  usage_[job.request.tenant] -= usage_of(job.placed->config.workers, job.needs);
  count(job, false);
  ids_.release(job.id, now);
  job.id = 0;
  job.placed.reset();
  job.needs.clear();
  job.needs_before.clear();
  job.places.clear();
  job.stray.clear();
  job.described = true;
  job.turn = {};
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
  job.needs_before = std::move(fit.needs_before);
  job.turn = {};
  for (const config::TopologyMember& member : job.placed->members)
    if (const auto worker = index_.worker_at(member.worker))
      job.places.push_back(place_of(topology_.workers[*worker]));
  usage_[job.request.tenant] += usage_of(job.placed->config.workers, job.needs);
  count(job, true);
  changes_.insert(job.request.job.config.name);
  for (const auto& [node, need] : job.needs_before) before_->used[node] += need;
  std::string where;
  for (const auto& [node, need] : job.needs) {
    used_[node] += need;
    where.append(where.empty() ? "fits on " : ", ").append(node);
  }
  decisions.push_back(decision(Outcome::admitted, job, where, now));
}

void Admission::restore(Job job, Instant now) {
  const std::string name = job.request.job.config.name;
  if (jobs_.contains(name)) throw std::invalid_argument("job " + name + " is there twice");
  if (job.admitted() && !ids_.restore(job.id))
    throw std::invalid_argument("job " + name + " has the id of another job, " +
                                std::to_string(job.id));
  job.renewed = now;
  job.turn = {};
  if (job.admitted()) {
    for (const auto& [node, need] : job.needs) used_[node] += need;
    for (const auto& [node, need] : job.needs_before) before_->used[node] += need;
    usage_[job.request.tenant] += usage_of(job.placed->config.workers, job.needs);
    count(job, true);
  } else {
    ++waiting_[job.request.tenant];
    news_ = true;
  }
  next_sequence_ = std::max(next_sequence_, job.sequence + 1);
  jobs_.emplace(name, std::move(job));
}

}  // namespace tributary::manager
