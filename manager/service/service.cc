#include "manager/service/service.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <utility>

#include "config/topology/topology_tree.h"

namespace tributary::manager {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kJobs = "jobs/";
constexpr const char* kState = "state";

std::string job_value(const Job& job) {
  Json value = {{"sequence", job.sequence}, {"id", job.id}, {"request", dump(job.request)}};
  if (!job.owner.empty()) value["owner"] = job.owner;
  if (job.placed) {
    JobRequest placed = job.request;
    placed.job.members = job.placed->members;
    value["placed"] = dump(placed);
  }
  return value.dump();
}

// Whether the value is of a job that runs, and so part of the documents.
bool runs(const std::string& value) {
  return Json::parse(value).at("id").get<std::uint32_t>() != 0;
}

// Exclusions of the manager (exclusions.h) are none of a switch's own.
config::TopologyJob as_switches_have_it(const Job& job) {
  config::TopologyJob told = *job.placed;
  if (job.request.policy == PolicyOwner::manager)
    told.config.stragglers.exclude = config::ExcludeBy::none;
  return told;
}

}  // namespace

Service::Service(Store& store, Setup setup, Instant now)
    : store_(store),
      writer_(store, {kJobs, kState}),
      setup_(std::move(setup)),
      admission_(fresh()) {
  load(now);
}

Admission Service::fresh() const {
  Admission admission(setup_.tenants, setup_.limits);
  admission.set_topology(setup_.topology);
  for (const auto& [node, figures] : own_figures_) cap(admission, node);
  return admission;
}

void Service::cap(Admission& admission, const std::string& node) const {
  const auto& [slots, bytes] = own_figures_.at(node);
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  admission.cap(node, {.slots = slots, .bytes = bytes, .completion_bytes = most, .jobs = most});
}

// Room that a job leaves may be what another one lacked.
void Service::forgive_refusals() {
  for (const std::string& node : std::exchange(refused_, {})) {
    own_figures_.try_emplace(node, std::numeric_limits<std::uint64_t>::max(),
                             std::numeric_limits<std::uint64_t>::max());
    cap(admission_, node);
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
      job.needs = into.needs_of(*job.placed);
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
  Admission admission = fresh();
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
  admission_ = std::move(admission);
  stored_ = std::move(stored);
  revision_ = revision;
  drained_ = std::move(drained);
}

Service::Values Service::values() const {
  Values wanted;
  for (const auto& [name, job] : admission_.jobs()) wanted[kJobs + name] = job_value(job);
  return wanted;
}

std::vector<Write> Service::differences(const Values& wanted) const {
  std::vector<Write> writes;
  for (const auto& [key, value] : wanted) {
    const auto now = stored_.find(key);
    if (now == stored_.end())
      writes.push_back({key, value, 0});
    else if (now->second.value != value)
      writes.push_back({key, value, now->second.revision});
  }
  for (const auto& [key, entry] : stored_)
    if (key != kState && !wanted.contains(key))
      writes.push_back({key, std::nullopt, entry.revision});
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
  std::vector<Write> writes = differences(values());
  if (writes.empty() && !state_changed) return writes;
  const auto changes_documents = [&](const Write& write) {
    const auto before = stored_.find(write.key);
    return (write.value && runs(*write.value)) ||
           (before != stored_.end() && runs(before->second.value));
  };
  if (std::any_of(writes.begin(), writes.end(), changes_documents)) ++revision_;
  const auto state = stored_.find(kState);
  const Json value = {
      {"next_id", admission_.ids().next()}, {"revision", revision_}, {"drained", drained_}};
  writes.insert(writes.begin(),
                {kState, value.dump(), state == stored_.end() ? 0 : state->second.revision});
  return writes;
}

// Each job is whole in its own entry, so a large change may be several commits: each leaves a state
// that a following manager can go on from. The first one has the state that all of them need.
void Service::keep(Instant now, bool state_changed) {
  const std::vector<Write> writes = next_writes(state_changed);
  if (writes.empty()) return;
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
  admission_.cap(node, admission_.used_at(node));
  refused_.insert(node);
  keep(now);
}

bool Service::renew(const std::string& name, Instant now) {
  return admission_.renew(name, now);
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
  cap(admission_, node);
}

config::Version Service::version() const {
  return {store_.term(), revision_};
}

std::string Service::document(const std::string& node) const {
  config::Topology topology = setup_.topology;
  if (!config::find_switch(topology, node))
    throw std::invalid_argument("there is no switch " + node);
  for (const auto& [name, job] : admission_.jobs())
    if (job.placed) topology.jobs.push_back(as_switches_have_it(job));
  return config::dump_assigned(version(), node, topology);
}

}  // namespace tributary::manager
