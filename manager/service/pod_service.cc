#include "manager/service/pod_service.h"

#include <utility>

namespace tributary::manager {
namespace {

constexpr const char* kPods = "pods/";
constexpr const char* kGroups = "podgroups/";
constexpr const char* kClaims = "claims/";
constexpr const char* kSequence = "podsequence";

}  // namespace

PodService::PodService(Store& store, const BookLimits& limits, PodBook::Tell tell, Instant now)
    : store_(store),
      writer_(store, {kPods, kGroups, kClaims, kSequence}),
      limits_(limits),
      tell_(std::move(tell)),
      book_(limits, tell_) {
  load(now);
}

// Figures of nodes are not in the store: a new manager's come within a second. What is known stays
// until all of the store is read.
void PodService::load(Instant now) {
  PodBook book(limits_, tell_);
  book.keep_nodes(book_);
  std::map<std::string, std::uint64_t> revisions;
  std::map<std::string, std::vector<std::string>> claims;
  for (const Entry& entry : store_.list(kGroups)) {
    for (PodGroup& group : parse_manifest(entry.value, entry.key).groups)
      book.restore(std::move(group));
    revisions[entry.key] = entry.revision;
  }
  std::map<std::string, std::string> holders;
  for (const Entry& entry : store_.list(kPods)) {
    PodRecord record = load_pod_record(entry.value, entry.key);
    holders[record.instance()] = record.pod.metadata.name;
    book.restore(std::move(record), now);
    revisions[entry.key] = entry.revision;
  }
  for (const Entry& entry : store_.list(kClaims)) {
    revisions[entry.key] = entry.revision;
    claims[holders[entry.value]].push_back(entry.key);
  }
  if (const auto entry = store_.get(kSequence)) {
    book.resume_at(std::stoull(entry->value));
    revisions[kSequence] = entry->revision;
  }
  book_ = std::move(book);
  revisions_ = std::move(revisions);
  claims_ = std::move(claims);
  stale_ = false;
}

void PodService::freshen(Instant now) {
  if (stale_) load(now);
}

void PodService::add_pod(const std::string& name, Values& values) {
  for (const std::string& key : std::exchange(claims_[name], {})) values.try_emplace(key);
  const auto at = book_.pods().find(name);
  if (at == book_.pods().end()) {
    claims_.erase(name);
    if (revisions_.contains(kPods + name)) values[kPods + name] = std::nullopt;
    return;
  }
  const PodRecord& record = at->second;
  values[kPods + name] = store_value(record);
  if (!record.holds()) return;
  for (const std::string& device : record.devices) {
    const std::string key = kClaims + record.node + "/" + device;
    values[key] = record.instance();
    claims_[name].push_back(key);
  }
}

void PodService::commit(const Values& values, PodJobs* jobs) {
  std::vector<Write> writes;
  for (const auto& [key, value] : values) {
    const auto known = revisions_.find(key);
    writes.push_back({key, value, known == revisions_.end() ? 0 : known->second});
  }
  const auto revisions =
      jobs == nullptr ? writer_.commit(writes) : jobs->keep_with(writer_, writes);
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (writes[i].value)
      revisions_[writes[i].key] = revisions[i];
    else
      revisions_.erase(writes[i].key);
  }
}

// A claim is never divided: what is placed at once has at most kMostClaims writes, and a job few.
void PodService::keep(Instant now, PodJobs* jobs) {
  Values values;
  const auto flush = [&] {
    if (!values.empty()) commit(std::exchange(values, {}), jobs);
  };
  try {
    const auto groups = book_.take_changed_groups();
    const auto pods = book_.take_changed_pods();
    if (!pods.empty()) values[kSequence] = std::to_string(book_.next_sequence());
    for (const std::string& name : groups) {
      const auto at = book_.groups().find(name);
      values[kGroups + name] =
          at == book_.groups().end() ? std::nullopt : std::optional(dump(at->second));
    }
    for (const std::string& name : pods) {
      Values more;
      add_pod(name, more);
      if (values.size() + more.size() > Store::kMostWrites) flush();
      // A claim that one pod gives up and another one takes is one write.
      for (auto& [key, value] : more)
        if (value || !values.contains(key)) values[key] = std::move(value);
    }
    flush();
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

void PodService::create(const Manifest& manifest, Instant now) {
  freshen(now);
  book_.create(manifest);
  keep(now);
}

bool PodService::remove(const std::string& pod, Instant now) {
  freshen(now);
  const bool known = book_.remove(pod);
  keep(now);
  return known;
}

bool PodService::remove_group(const std::string& group, Instant now) {
  freshen(now);
  const bool known = book_.remove_group(group);
  keep(now);
  return known;
}

void PodService::report(const std::string& node, NodeReport report, Instant now) {
  freshen(now);
  book_.report(node, std::move(report), now);
  keep(now);
}

void PodService::advance(Instant now) {
  freshen(now);
  book_.advance(now);
  keep(now);
}

void PodService::schedule(const Distances& distances, Instant now, PodJobs* jobs) {
  freshen(now);
  book_.begin_scheduling();
  while (book_.schedule_one(distances, jobs)) keep(now, jobs);
}

void PodService::tend(PodJobs& jobs, Instant now) {
  freshen(now);
  try {
    book_.tend(jobs);
  } catch (const StoreError&) {
    stale_ = true;
    throw;
  }
  keep(now);
}

}  // namespace tributary::manager
