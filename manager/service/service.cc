#include "manager/service/service.h"

#include <algorithm>
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
  return admission;
}

void Service::load_job(const Entry& entry, Instant now, Admission& into) const {
  try {
    const Json value = Json::parse(entry.value);
    Job job;
    job.sequence = value.at("sequence").get<std::uint64_t>();
    job.id = value.at("id").get<std::uint32_t>();
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
  Admission admission = fresh();
  std::map<std::string, Entry> stored;
  std::uint64_t revision = 1;
  for (Entry& entry : store_.list(kJobs)) {
    load_job(entry, now, admission);
    stored.emplace(entry.key, std::move(entry));
  }
  if (auto state = store_.get(kState)) {
    const Json value = Json::parse(state->value);
    admission.ids().resume_at(value.at("next_id").get<std::uint32_t>());
    revision = value.at("revision").get<std::uint64_t>();
    stored.emplace(kState, std::move(*state));
  }
  admission_ = std::move(admission);
  stored_ = std::move(stored);
  revision_ = revision;
  stale_ = false;
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
  const auto revisions = writer_.commit(writes);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (writes[i].value)
      stored_[writes[i].key] = {writes[i].key, *writes[i].value, revisions[i]};
    else
      stored_.erase(writes[i].key);
  }
}

// Each job is whole in its own entry, so a large change may be several commits: each leaves a state
// that a following manager can go on from. The first one has the state that all of them need.
void Service::keep(Instant now) {
  const std::vector<Write> writes = differences(values());
  if (writes.empty()) return;
  const auto changes_documents = [&](const Write& write) {
    const auto before = stored_.find(write.key);
    return (write.value && runs(*write.value)) ||
           (before != stored_.end() && runs(before->second.value));
  };
  if (std::any_of(writes.begin(), writes.end(), changes_documents)) ++revision_;
  const auto state = stored_.find(kState);
  std::vector<Write> part = {
      {kState, Json{{"next_id", admission_.ids().next()}, {"revision", revision_}}.dump(),
       state == stored_.end() ? 0 : state->second.revision}};
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
    stale_ = true;
    try {
      load(now);
    } catch (const StoreError&) {
      // Gone for reading, too: the next call tries again.
    }
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
  auto told = admission_.cancel(name, now, reason);
  keep(now);
  return told;
}

std::vector<Decision> Service::advance(Instant now) {
  if (stale_) load(now);
  auto told = admission_.advance(now);
  keep(now);
  return told;
}

void Service::switch_refused(const std::string& node, const std::string& job, Instant now,
                             const std::string& reason) {
  if (stale_) load(now);
  admission_.requeue(job, now, node + " refused it: " + reason);
  admission_.cap(node, admission_.used_at(node));
  keep(now);
}

bool Service::renew(const std::string& name, Instant now) {
  return admission_.renew(name, now);
}

config::Version Service::version() const {
  return {store_.term(), revision_};
}

std::string Service::document(const std::string& node) const {
  config::Topology topology = setup_.topology;
  if (!config::find_switch(topology, node))
    throw std::invalid_argument("there is no switch " + node);
  for (const auto& [name, job] : admission_.jobs())
    if (job.placed) topology.jobs.push_back(*job.placed);
  return config::dump_assigned(version(), node, topology);
}

}  // namespace tributary::manager
