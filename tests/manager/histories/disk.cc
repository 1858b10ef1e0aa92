#include "tests/manager/histories/disk.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace tributary::manager::histories {
namespace {

using Json = nlohmann::ordered_json;

StoreError error(StoreError::Kind kind, const std::string& what) {
  return {kind, "simulated store: " + what};
}

}  // namespace

std::map<std::uint32_t, StoredJob> Disk::running() const {
  std::map<std::uint32_t, StoredJob> jobs;
  for (const auto& [key, job] : running_)
    if (!jobs.emplace(job.id, job).second) jobs[0] = {};  // told by audit()
  return jobs;
}

void Disk::read(const Write& write) {
  if (!write.key.starts_with("jobs/")) return;
  running_.erase(write.key);
  if (!write.value) return;
  const Json value = Json::parse(*write.value);
  StoredJob job{write.key.substr(5), value.at("id").get<std::uint32_t>(), {}};
  if (job.id == 0) return;
  for (const auto& [node, need] : value.at("needs").items())
    job.needs[node] = {need.at(0).get<std::uint64_t>(), need.at(1).get<std::uint64_t>(),
                       need.at(2).get<std::uint64_t>(), need.at(3).get<std::uint64_t>()};
  running_[write.key] = std::move(job);
}

const std::map<std::uint32_t, StoredJob>* Disk::at(const config::Version& version) const {
  const auto found = versions_.find(version);
  return found == versions_.end() ? nullptr : &found->second;
}

std::uint64_t Disk::open() {
  ++term_;
  note_version();
  return term_;
}

void Disk::note_version() {
  const auto state = entries_.find("state");
  const std::uint64_t revision =
      state == entries_.end()
          ? 1
          : Json::parse(state->second.value).at("revision").get<std::uint64_t>();
  versions_[{term_, revision}] = running();
}

void Disk::audit() {
  const auto jobs = running();
  if (jobs.contains(0)) faults.emplace_back("two jobs have one id");
  std::map<std::string, Amount> used;
  std::set<std::uint32_t> live;
  for (const auto& [id, job] : jobs) {
    live.insert(id);
    if (!live_.contains(id) && !given_.emplace(id, job.name).second)
      faults.push_back("id " + std::to_string(id) + " of " + job.name + " was " + given_[id] +
                       "'s");
    for (const auto& [node, need] : job.needs) used[node] += need;
  }
  for (const auto& [node, amount] : used)
    if (!amount.fits_in(capacity[node]))
      faults.push_back(node + " has " + std::to_string(amount.slots) + " slots in use of " +
                       std::to_string(capacity[node].slots));
  live_ = std::move(live);
  note_version();
}

std::vector<std::uint64_t> Disk::commit(std::uint64_t term, std::span<const Write> writes) {
  if (term != term_) throw error(StoreError::Kind::fenced, "a later manager leads");
  if (full) throw error(StoreError::Kind::full, "no room");
  for (const Write& write : writes) {
    const auto there = entries_.find(write.key);
    if ((there == entries_.end() ? 0 : there->second.revision) != write.expected)
      throw error(StoreError::Kind::conflict, write.key);
  }
  ++revision_;
  std::vector<std::uint64_t> revisions;
  for (const Write& write : writes) {
    if (write.value)
      entries_[write.key] = {write.key, *write.value, revision_};
    else
      entries_.erase(write.key);
    read(write);
    revisions.push_back(write.value ? revision_ : 0);
  }
  audit();
  return revisions;
}

void DiskStore::find() {
  step_();
  if (!disk_.gone) return;
  ++unanswered_;
  throw error(StoreError::Kind::gone, "no answer");
}

void DiskStore::begin() {
  find();
  if (disk_.term() != term_) throw error(StoreError::Kind::fenced, "a later manager leads");
}

std::optional<Entry> DiskStore::get(std::string_view key) {
  begin();
  const auto at = disk_.entries().find(std::string(key));
  return at == disk_.entries().end() ? std::nullopt : std::optional(at->second);
}

std::vector<Entry> DiskStore::list(std::string_view prefix) {
  begin();
  std::vector<Entry> found;
  for (const auto& [key, entry] : disk_.entries())
    if (key.starts_with(prefix)) found.push_back(entry);
  return found;
}

void DiskStore::check() {
  begin();
}

std::vector<std::uint64_t> DiskStore::commit(std::span<const Write> writes) {
  find();
  auto revisions = disk_.commit(term_, writes);
  step_();
  if (std::exchange(lose_answer, false)) throw error(StoreError::Kind::gone, "the answer is lost");
  return revisions;
}

}  // namespace tributary::manager::histories
