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
    : tenants_(std::move(tenants)), places_(limits.queue), ids_(limits.quarantine) {}

void Admission::set_topology(config::Topology topology) {
  topology_ = std::move(topology);
  index_ = TreeIndex(topology_);
  amounts_.set_switches(topology_);
  workers_.set_workers(topology_, index_);
  for (auto& [name, job] : jobs_) {
    job.turn.needs.reset();
    if (job.placed) workers_.count(*job.placed, index_, true);
  }
  stir();
}

void Admission::begin_move(config::Topology before, std::string text) {
  TreeIndex index(before);
  before_.emplace(TreeBefore{std::move(before), std::move(index), std::move(text)});
}

void Admission::end_move() {
  before_.reset();
  for (auto& [name, job] : jobs_) job.needs_before.clear();
  stir();
}

void Admission::drain(const std::string& worker, bool drained) {
  if (workers_.drain(worker, drained, topology_, index_)) stir();
}

void Admission::cap(const std::string& node, const Amount& capacity) {
  amounts_.cap(node, capacity);
  stir();
}

void Admission::refuse(const std::string& node) {
  amounts_.refuse(node);
  stir();  // shares are of the capacity
}

void Admission::forgive(const std::string& node) {
  if (amounts_.forgive(node)) stir();
}

Usage Admission::used_by(const std::string& tenant) const {
  const auto at = usage_.find(tenant);
  return at == usage_.end() ? Usage{} : at->second;
}

Fitter Admission::fitter() const {
  return {topology_, index_, amounts_, workers_, before_ ? &*before_ : nullptr};
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
  const Fit alone =
      fitter().fit(request.job, job.turn.needs, {.used = {}, .held = {}, .despite_refusal = true});
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
  if (why.empty()) why = places_.none_for(job.request.tenant, tenants_);
  if (!why.empty()) {
    Decision refusal = decision(Outcome::refused, job, why, now);
    refusal.name_taken = jobs_.contains(name);
    return refusal;
  }
  job.sequence = next_sequence_++;
  job.renewed = now;
  job.waits_for = "the next round of admission";
  places_.take(job.request.tenant);
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
    places_.give_back(at->second.request.tenant);
  jobs_.erase(at);
  changes_.insert(name);
  stir();
  return told;
}

void Admission::requeue(const std::string& name, Instant now, const std::string& reason) {
  const auto at = jobs_.find(name);
  if (at == jobs_.end() || !at->second.admitted()) return;
  release(at->second, now);
  places_.take(at->second.request.tenant);
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

void Admission::release(Job& job, Instant now) {
  amounts_.give_back(job.needs);
  for (const auto& [node, need] : job.needs_before) before_->used[node] -= need;
  usage_[job.request.tenant] -= usage_of(job.placed->config.workers, job.needs);
  workers_.count(*job.placed, index_, false);
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
  workers_.count(*job.placed, index_, true);
  changes_.insert(job.request.job.config.name);
  for (const auto& [node, need] : job.needs_before) before_->used[node] += need;
  std::string where;
  amounts_.take(job.needs);
  for (const auto& [node, need] : job.needs)
    where.append(where.empty() ? "fits on " : ", ").append(node);
  decisions.push_back(decision(Outcome::admitted, job, where, now));
}

void Admission::settle(Job& job) const {
  const Told told = with_places(job, topology_, index_);
  Fit shape = shape_on(topology_, index_, told.job, told.left);
  job.described = shape.shortage.empty();
  job.stray = shape.shortage;
  if (!job.described) return;
  job.needs = std::move(shape.needs);
  if (before_)
    job.needs_before = shape_on(before_->topology, before_->index, told.job, told.left).needs;
  if (!told.names.empty())
    job.stray = "runs on where the topology has its workers no more: " + told.names;
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
    amounts_.take(job.needs);
    for (const auto& [node, need] : job.needs_before) before_->used[node] += need;
    usage_[job.request.tenant] += usage_of(job.placed->config.workers, job.needs);
    workers_.count(*job.placed, index_, true);
  } else {
    places_.take(job.request.tenant);
    news_ = true;
  }
  next_sequence_ = std::max(next_sequence_, job.sequence + 1);
  jobs_.emplace(name, std::move(job));
}

}  // namespace tributary::manager
