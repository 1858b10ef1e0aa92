#include "manager/kubernetes/request.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tributary::manager::kubernetes {
namespace {

struct Route {
  Resource resource;
  const char* plural;
  const char* kind;
  bool spaced;   // belongs to a namespace
  bool grouped;  // of the API group
};
constexpr std::array kRows = {Route{Resource::pods, "pods", "Pod", true, false},
                              Route{Resource::pod_groups, "podgroups", "PodGroup", true, true},
                              Route{Resource::nodes, "nodes", "Node", false, false},
                              Route{Resource::events, "events", "Event", true, false},
                              Route{Resource::spaces, "namespaces", "Namespace", false, false}};

const Route& row_of(Resource resource) {
  return kRows.at(static_cast<std::size_t>(resource));
}

using Words = std::vector<std::string_view>;

// Empty words, too: a path with a second slash in a row is no path of ours.
Words words_of(std::string_view path) {
  Words words;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::size_t end = std::min(path.find('/'), path.size());
    words.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return words;
}

bool begins_with(Words& words, const Words& prefix) {
  if (words.size() < prefix.size() || !std::equal(prefix.begin(), prefix.end(), words.begin()))
    return false;
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(prefix.size()));
  return true;
}

}  // namespace

std::string Request::asked(const std::string& name) const {
  const auto at = query.find(name);
  return at == query.end() ? "" : at->second;
}

bool Request::asks(const std::string& name) const {
  const std::string value = asked(name);
  return value == "true" || value == "1";
}

bool Request::wants_table() const {
  return accept.find("as=Table;v=v1;g=meta.k8s.io") != std::string::npos;
}

const char* plural_of(Resource resource) {
  return row_of(resource).plural;
}

const char* kind_of(Resource resource) {
  return row_of(resource).kind;
}

const char* version_of(Resource resource) {
  return row_of(resource).grouped ? kGroupVersion : "v1";
}

std::optional<Target> target_of(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  Words words = words_of(path);
  const bool grouped = begins_with(words, {"apis", "scheduling.k8s.io", "v1alpha2"});
  if (!grouped && !begins_with(words, {"api", "v1"})) return std::nullopt;
  Target target;
  const bool in_space = words.size() >= 3 && words[0] == "namespaces";
  if (in_space) {
    target.space = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  if (words.empty() || words.size() > 3) return std::nullopt;
  for (const Route& row : kRows) {
    if (words[0] != row.plural || row.grouped != grouped) continue;
    // One object of a kind that has namespaces is found in its own.
    if (row.spaced ? words.size() > 1 && !in_space : in_space) return std::nullopt;
    target.resource = row.resource;
    if (words.size() > 1) target.name = words[1];
    if (words.size() > 2) target.part = words[2];
    const bool has_part = row.resource == Resource::pods && target.part == "log";
    if (words.size() > 2 && !has_part) return std::nullopt;
    if (words.size() > 1 && target.name.empty()) return std::nullopt;
    return target;
  }
  return std::nullopt;
}

}  // namespace tributary::manager::kubernetes
