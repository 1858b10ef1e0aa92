#include "manager/service/service.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <utility>

#include "config/topology/topology_tree.h"
#include "manager/admission/stray.h"

namespace tributary::manager {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kJobs = "jobs/";
// Time until a switch that has refused a job is asked again: pods that it sent back have gone
// elsewhere by then, where there is room.
constexpr Duration kLeastRest = Duration::seconds(4);
constexpr Duration kMostRest = Duration::seconds(64);

Json places_value(const std::vector<config::TopologyWorker>& places) {
  Json value = Json::array();
  for (const auto& place : places)
    value.push_back({place.name, place.attached_to, place.port, place.ipv4.value_or(0)});
  return value;
}

std::vector<config::TopologyWorker> places_of(const Json& value) {
  std::vector<config::TopologyWorker> places;
  for (const Json& one : value) {
    const auto ipv4 = one.at(3).get<std::uint32_t>();
    places.push_back({one.at(0).get<std::string>(), one.at(1).get<std::string>(),
                      one.at(2).get<std::string>(),
                      ipv4 == 0 ? std::nullopt : std::optional(ipv4)});
  }
  return places;
}

Json needs_value(const std::map<std::string, Amount>& needs) {
  Json value = Json::object();
  for (const auto& [node, need] : needs)
    value[node] = {need.slots, need.bytes, need.completion_bytes, need.jobs, need.hosted_bytes};
  return value;
}

std::map<std::string, Amount> needs_of(const Json& value) {
  std::map<std::string, Amount> needs;
  for (const auto& [node, need] : value.items())
    needs[node] = {need.at(0).get<std::uint64_t>(), need.at(1).get<std::uint64_t>(),
                   need.at(2).get<std::uint64_t>(), need.at(3).get<std::uint64_t>(),
                   // An earlier version's jobs have no such hosts.
                   need.size() > 4 ? need[4].get<std::uint64_t>() : 0};
  return needs;
}

std::string job_value(const Job& job) {
  Json value = {{"sequence", job.sequence}, {"id", job.id}, {"request", dump(job.request)}};
  if (!job.owner.empty()) value["owner"] = job.owner;
  if (job.placed) {
    JobRequest placed = job.request;
    placed.job.members = job.placed->members;
    value["placed"] = dump(placed);
    value["places"] = places_value(job.places);
    value["needs"] = needs_value(job.needs);
  }
  return value.dump();
}

// Whether the value is of a job that runs, and so part of the documents.
bool runs(const std::string& value) {
  return Json::parse(value).at("id").get<std::uint32_t>() != 0;
}

// Exclusions of the manager (exclusions.h) are none of a switch's own.
config::TopologyJob as_switches_have_it(config::TopologyJob told, const Job& job) {
  if (job.request.policy == PolicyOwner::manager)
    told.config.stragglers.exclude = config::ExcludeBy::none;
  return told;
}

}  // namespace

Service::Service(Store& store, Setup setup, Instant now)
    : store_(store),
      writer_(store, {kJobs, kState}),
      setup_(std::move(setup)),
      topology_(setup_.topology),
      admission_(fresh(topology_)) {
  load(now);
}

Admission Service::fresh(const config::Topology& topology) const {
  Admission admission(setup_.tenants, setup_.limits);
  admission.set_topology(topology);
  for (const auto& [node, figures] : own_figures_) cap(admission, node);
  return admission;
}

void Service::cap(Admission& admission, const std::string& node) const {
  const auto& [slots, bytes] = own_figures_.at(node);
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  admission.cap(node, {.slots = slots,
                       .bytes = bytes,
                       .completion_bytes = most,
                       .jobs = most,
                       .hosted_bytes = most});
}

// Room that a job leaves may be what another one lacked.
void Service::forgive_refusals() {
  for (const auto& [node, refusal] : std::exchange(refusals_, {})) admission_.forgive(node);
}

void Service::forgive_old_refusals(Instant now) {
  for (auto& [node, refusal] : refusals_) {
    if (!refusal.lasts || now < refusal.until) continue;
    refusal.lasts = false;
    admission_.forgive(node);
  }
}

void Service::load_job(const Entry& entry, Instant now, Admission& into) const {
  try {
    const Json value = Json::parse(entry.value);
    Job job;
    job.sequence = value.at("sequence").get<std::uint64_t>();
    job.id = value.at("id").get<std::uint32_t>();
    job.owner = value.value("owner", "");
    job.request = parse_job_request(value.at("request").get<std::string>(), entry.key);
    if (job.id != 0) {
      job.placed = parse_job_request(value.at("placed").get<std::string>(), entry.key).job;
      job.placed->config.id = job.id;
      job.places = places_of(value.value("places", Json::array()));
      job.needs = needs_of(value.value("needs", Json::object()));
      into.settle(job);
    }
    into.restore(std::move(job), now);
  } catch (const std::exception& error) {
    throw std::runtime_error("store entry " + entry.key + ": " + error.what());
  }
}

void Service::load(Instant now) {
  std::map<std::string, Entry> stored;
  for (Entry& entry : store_.list(kJobs)) stored.emplace(entry.key, std::move(entry));
  if (auto state = store_.get(kState)) stored.emplace(kState, std::move(*state));
  go_back_to(std::move(stored), now);
  stale_ = false;
}

void Service::go_back_to(std::map<std::string, Entry> stored, Instant now) {
  Uplinks uplinks = uplinks_in(stored);
  go_back_to(std::move(stored), std::move(uplinks), now);
}

void Service::go_back_to(std::map<std::string, Entry> stored, Uplinks uplinks, Instant now) {
  config::Topology topology = with_ways(setup_.topology, uplinks.ways);
  config::Topology before = before_move(topology, uplinks.move);
  Admission admission = fresh(topology);
  if (const auto& move = uplinks.move)
    admission.begin_move(before,
                         "switch " + move->node + " moves from " + move->from + " to " + move->to);
  std::uint64_t revision = 1;
  std::set<std::string> drained;
  for (const auto& [key, entry] : stored)
    if (key != kState) load_job(entry, now, admission);
  if (const auto state = stored.find(kState); state != stored.end()) {
    const Json value = Json::parse(state->second.value);
    admission.ids().resume_at(value.at("next_id").get<std::uint32_t>());
    revision = value.at("revision").get<std::uint64_t>();
    drained = value.value("drained", drained);
    for (const std::string& worker : drained) admission.drain(worker, true);
  }
  for (const auto& [node, refusal] : refusals_)
    if (refusal.lasts) admission.refuse(node);
  ways_ = std::move(uplinks.ways);
  move_ = std::move(uplinks.move);
  topology_ = std::move(topology);
  before_ = std::move(before);
  admission_ = std::move(admission);
  stored_ = std::move(stored);
  revision_ = revision;
  drained_ = std::move(drained);
}

void Service::set_setup(Setup setup, Instant now) {
  if (stale_) load(now);
  Setup before = std::exchange(setup_, std::move(setup));
  try {
    go_back_to(stored_, now);
    ++revision_;                          // documents have the topology
    if (move_) move_->since = revision_;  // also that of the switch whose turn it is now
    keep(now, true);
  } catch (...) {
    setup_ = std::move(before);
    go_back_to(stored_, now);
    throw;
  }
}

// Covers the jobs that have changed alone: the cost of a call does not grow with the others.
std::vector<Write> Service::differences() const {
  std::vector<Write> writes;
  for (const std::string& name : admission_.changes()) {
    const std::string key = kJobs + name;
    const auto job = admission_.jobs().find(name);
    const auto there = stored_.find(key);
    if (job != admission_.jobs().end()) {
      std::string value = job_value(job->second);
      if (there == stored_.end())
        writes.push_back({key, std::move(value), 0});
      else if (there->second.value != value)
        writes.push_back({key, std::move(value), there->second.revision});
    } else if (there != stored_.end()) {
      writes.push_back({key, std::nullopt, there->second.revision});
    }
  }
  return writes;
}

void Service::commit(const std::vector<Write>& writes) {
  note(writes, writer_.commit(writes));
}

void Service::note(const std::vector<Write>& writes, std::span<const std::uint64_t> revisions) {
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (writes[i].value)
      stored_[writes[i].key] = {writes[i].key, *writes[i].value, revisions[i]};
    else
      stored_.erase(writes[i].key);
  }
}

// After a commit that failed: what was decided is forgotten.
void Service::restore(Instant now) {
  stale_ = true;
  try {
    load(now);
  } catch (const StoreError&) {
    // Gone for reading, too: the next call tries again. Until then it is as it was before.
    go_back_to(stored_, now);
  }
}

std::vector<Write> Service::next_writes(bool state_changed) {
  std::vector<Write> writes = differences();
  if (writes.empty() && !state_changed) return writes;
  const auto changes_documents = [&](const Write& write) {
    const auto before = stored_.find(write.key);
    return (write.value && runs(*write.value)) ||
           (before != stored_.end() && runs(before->second.value));
  };
  if (std::any_of(writes.begin(), writes.end(), changes_documents)) ++revision_;
  const auto state = stored_.find(kState);
  Json value = {
      {"next_id", admission_.ids().next()}, {"revision", revision_}, {"drained", drained_}};
  add_uplinks(value);
  writes.insert(writes.begin(),
                {kState, value.dump(), state == stored_.end() ? 0 : state->second.revision});
  return writes;
}

// Each job is whole in its own entry, so a large change may be several commits: each leaves a state
// that a following manager can go on from. The first one has the state that all of them need.
void Service::keep(Instant now, bool state_changed) {
  const std::vector<Write> writes = next_writes(state_changed);
  if (writes.empty()) return admission_.forget_changes();
  std::vector<Write> part;
  std::size_t bytes = 0;
  try {
    for (const Write& write : writes) {
      const std::size_t size = write.key.size() + (write.value ? write.value->size() : 0);
      if (part.size() == Store::kMostWrites || bytes + size > Store::kMostBytes / 2) {
        commit(std::exchange(part, {}));
        bytes = 0;
      }
      part.push_back(write);
      bytes += size;
    }
    commit(part);
  } catch (const StoreError&) {
    restore(now);
    throw;
  }
  admission_.forget_changes();
}

Admission::Attempt Service::admit_now(JobRequest request, const std::string& owner, Instant now) {
  if (stale_) load(now);
  return admission_.admit_now(std::move(request), owner, now);
}

std::vector<std::uint64_t> Service::keep_with(Writer& other, std::span<const Write> more,
                                              Instant now) {
  const std::vector<Write> writes = next_writes(false);
  try {
    auto revisions = writer_.commit_with(writes, other, more);
    note(writes, revisions);
    admission_.forget_changes();
    revisions.erase(revisions.begin(),
                    revisions.begin() + static_cast<std::ptrdiff_t>(writes.size()));
    return revisions;
  } catch (const StoreError&) {
    restore(now);
    throw;
  }
}

Decision Service::submit(std::string_view text, const std::string& file_name, Instant now) {
  JobRequest request = parse_job_request(text, file_name);
  if (stale_) load(now);
  Decision told = admission_.submit(std::move(request), now);
  keep(now);
  return told;
}

std::optional<Decision> Service::cancel(const std::string& name, Instant now,
                                        const std::string& reason) {
  if (stale_) load(now);
  // A job of pods that a switch has refused is tried elsewhere at once, and leaves no room.
  const auto at = admission_.jobs().find(name);
  const bool leaves_room =
      at != admission_.jobs().end() && (at->second.admitted() || at->second.owner.empty());
  auto told = admission_.cancel(name, now, reason);
  if (leaves_room) forgive_refusals();
  keep(now);
  return told;
}

std::vector<Decision> Service::advance(Instant now) {
  if (stale_) load(now);
  forgive_old_refusals(now);
  auto told = admission_.advance(now);
  for (const Decision& decision : told)
    if (decision.outcome == Outcome::expired) forgive_refusals();
  keep(now);
  return told;
}

void Service::switch_refused(const std::string& node, const std::string& job, Instant now,
                             const std::string& reason) {
  if (stale_) load(now);
  admission_.requeue(job, now, node + " refused it: " + reason);
  admission_.refuse(node);
  const auto [at, first] = refusals_.try_emplace(node, Refusal{now, kLeastRest});
  if (!first) at->second.rest = std::min(at->second.rest + at->second.rest, kMostRest);
  at->second.lasts = true;
  at->second.until = now + at->second.rest;
  keep(now);
}

void Service::renew(std::span<const std::string> names, Instant now) {
  if (names.empty()) return;
  try {
    store_.check();
  } catch (const StoreError& error) {
    if (error.kind() == StoreError::Kind::fenced) throw;
  }
  for (const std::string& name : names) admission_.renew(name, now);
}

void Service::check(Instant now, bool write) {
  store_.check();
  if (!write) return;
  if (stale_) load(now);
  keep(now, true);
}

void Service::drain(const std::vector<std::string>& workers, bool drained, Instant now) {
  if (stale_) load(now);
  for (const std::string& worker : workers) {
    admission_.drain(worker, drained);
    if (drained)
      drained_.insert(worker);
    else
      drained_.erase(worker);
  }
  keep(now, true);
}

void Service::switch_has(const std::string& node, std::uint64_t slots, std::uint64_t bytes,
                         Instant now) {
  if (stale_) load(now);
  own_figures_[node] = {slots, bytes};
  refusals_.erase(node);
  cap(admission_, node);
}

config::Version Service::version() const {
  return {store_.term(), revision_};
}

std::string Service::document(const std::string& node) const {
  const auto at = config::find_switch(topology_, node);
  if (!at) throw std::invalid_argument("there is no switch " + node);
  const bool is_before = sees_before(node);
  config::Topology topology = is_before ? before_ : topology_;
  for (const auto& [name, job] : admission_.jobs()) {
    const auto& needs = is_before ? job.needs_before : job.needs;
    if (!job.placed || !job.described || !needs.contains(node)) continue;
    Told told = with_places(job, topology_, admission_.index());
    topology.workers.insert(topology.workers.end(), told.left.begin(), told.left.end());
    topology.jobs.push_back(as_switches_have_it(std::move(told.job), job));
  }
  return config::dump_assigned(version(), node, topology, open_port_of(node));
}

}  // namespace tributary::manager
