#include "manager/kubernetes/catalog.h"

#include "manager/kubernetes/objects.h"

namespace tributary::manager::kubernetes {
namespace {

using Named = std::map<std::string, Json>;

Named events_of(const PodCluster::View& view) {
  Named events;
  for (const PodEvent& event : view.events) {
    const auto at = view.book.pods().find(event.pod);
    const std::string uid = at == view.book.pods().end() ? "" : uid_of(at->second);
    Json object = object_of(event, uid);
    events.emplace(object["metadata"]["name"].get<std::string>(), std::move(object));
  }
  return events;
}

}  // namespace

Named Catalog::current(Resource resource) const {
  return pods_.look([&](const PodCluster::View& view) {
    Named named;
    switch (resource) {
      case Resource::pods:
        for (const auto& [name, record] : view.book.pods()) named.emplace(name, object_of(record));
        break;
      case Resource::pod_groups:
        for (const auto& [name, group] : view.book.groups()) named.emplace(name, object_of(group));
        break;
      case Resource::nodes:
        for (const Node& node : view.book.nodes_in_use()) named.emplace(node.name, object_of(node));
        break;
      case Resource::events: return events_of(view);
      case Resource::spaces: named.emplace(kSpace, object_of_space()); break;
    }
    return named;
  });
}

void Catalog::refresh(Resource resource) {
  ledger_.update(resource, current(resource));
  refreshed_[resource] = std::chrono::steady_clock::now();
}

Catalog::List Catalog::list(Resource resource) {
  const std::lock_guard lock(mutex_);
  refresh(resource);
  return {ledger_.objects(resource), ledger_.version()};
}

Object Catalog::find(Resource resource, const std::string& name) {
  const std::lock_guard lock(mutex_);
  refresh(resource);
  const Objects& objects = ledger_.objects(resource);
  const auto at = objects.find(name);
  return at == objects.end() ? nullptr : at->second;
}

std::optional<Catalog::Changes> Catalog::since(Resource resource, std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  if (std::chrono::steady_clock::now() - refreshed_[resource] >= pause_) refresh(resource);
  auto changes = ledger_.since(resource, version);
  if (!changes) return std::nullopt;
  return Changes{std::move(*changes), ledger_.version()};
}

}  // namespace tributary::manager::kubernetes
