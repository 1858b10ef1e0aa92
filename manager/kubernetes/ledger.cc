#include "manager/kubernetes/ledger.h"

#include <utility>

namespace tributary::manager::kubernetes {
namespace {

constexpr const char* kVersion = "resourceVersion";

bool is_same(const Json& stored, const Json& now) {
  Json bare = stored;
  bare["metadata"].erase(kVersion);
  return bare == now;
}

Object with_version(Json object, std::uint64_t version) {
  object["metadata"][kVersion] = std::to_string(version);
  return std::make_shared<const Json>(std::move(object));
}

}  // namespace

void Ledger::note(Resource resource, Object before, Object after) {
  Log& log = logs_.try_emplace(resource, Log{{}, first_}).first->second;
  log.changes.push_back({version_, std::move(before), std::move(after)});
  if (log.changes.size() <= kKept) return;
  log.forgotten = log.changes.front().version;
  log.changes.pop_front();
}

void Ledger::update(Resource resource, std::map<std::string, Json> now) {
  Objects& known = objects_[resource];
  for (auto at = known.begin(); at != known.end();) {
    if (now.contains(at->first)) {
      ++at;
      continue;
    }
    ++version_;
    // The last state, with the version of its end.
    note(resource, with_version(*at->second, version_), nullptr);
    at = known.erase(at);
  }
  for (auto& [name, object] : now) {
    Object& stored = known[name];
    if (stored && is_same(*stored, object)) continue;
    ++version_;
    const Object before = std::exchange(stored, with_version(std::move(object), version_));
    note(resource, before, stored);
  }
}

std::optional<std::vector<Ledger::Change>> Ledger::since(Resource resource,
                                                         std::uint64_t version) const {
  const auto log = logs_.find(resource);
  const std::uint64_t forgotten = log == logs_.end() ? first_ : log->second.forgotten;
  if (version < forgotten || version > version_) return std::nullopt;
  std::vector<Change> found;
  if (log == logs_.end()) return found;
  for (const Change& change : log->second.changes)
    if (change.version > version) found.push_back(change);
  return found;
}

}  // namespace tributary::manager::kubernetes
