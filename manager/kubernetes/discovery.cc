#include "manager/kubernetes/discovery.h"

#include <string>
#include <vector>

#include "manager/kubernetes/request.h"

namespace tributary::manager::kubernetes {
namespace {

Json resource(Resource of, bool spaced, const char* short_name,
              const std::vector<std::string>& verbs) {
  std::string singular = plural_of(of);
  singular.pop_back();
  return {{"name", plural_of(of)}, {"singularName", singular}, {"namespaced", spaced},
          {"kind", kind_of(of)},   {"verbs", verbs},           {"shortNames", {short_name}}};
}

Json list(const char* version, Json resources) {
  return {{"kind", "APIResourceList"},
          {"apiVersion", "v1"},
          {"groupVersion", version},
          {"resources", std::move(resources)}};
}

const std::vector<std::string> kRead = {"get", "list", "watch"};
const std::vector<std::string> kAll = {"create", "delete", "get", "list", "watch"};

Json core_resources() {
  Json log = {{"name", "pods/log"}, {"singularName", ""}, {"namespaced", true}, {"kind", "Pod"}};
  log["verbs"] = {"get"};
  return list("v1", Json::array({resource(Resource::pods, true, "po", kAll), std::move(log),
                                 resource(Resource::nodes, false, "no", kRead),
                                 resource(Resource::events, true, "ev", kRead),
                                 resource(Resource::spaces, false, "ns", kRead)}));
}

Json group() {
  const Json version = {{"groupVersion", kGroupVersion}, {"version", "v1alpha2"}};
  return {{"name", "scheduling.k8s.io"},
          {"versions", Json::array({version})},
          {"preferredVersion", version}};
}

Json group_list() {
  return {{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", Json::array({group()})}};
}

Json one_group() {
  Json one = {{"kind", "APIGroup"}, {"apiVersion", "v1"}};
  one.update(group());
  return one;
}

std::string folder_of(Resource resource) {
  const std::string version = version_of(resource);
  return (version == "v1" ? "api/" : "apis/") + version;
}

Json openapi_index() {
  Json paths = Json::object();
  for (const Resource resource : {Resource::pods, Resource::pod_groups})
    paths[folder_of(resource)]["serverRelativeURL"] = "/openapi/v3/" + folder_of(resource);
  return {{"paths", std::move(paths)}};
}

// All that kubectl reads of it: that the server checks fields itself (`fieldValidation`), for which
// kubectl looks at the patch operation, whether or not that is served.
Json openapi_of(Resource resource) {
  const std::string version = version_of(resource);
  const std::size_t slash = version.find('/');
  const bool grouped = slash != std::string::npos;
  Json patch = {{"parameters", Json::array({{{"name", "fieldValidation"}, {"in", "query"}}})},
                {"x-kubernetes-group-version-kind",
                 {{"group", grouped ? version.substr(0, slash) : ""},
                  {"version", grouped ? version.substr(slash + 1) : version},
                  {"kind", kind_of(resource)}}}};
  Json paths = Json::object();
  std::string path = folder_of(resource);
  path.insert(0, 1, '/').append("/namespaces/{namespace}/");
  path.append(plural_of(resource)).append("/{name}");
  paths[path]["patch"] = std::move(patch);
  return {{"openapi", "3.0.0"},
          {"info", {{"title", "tributary-managerd"}, {"version", "v1"}}},
          {"paths", std::move(paths)}};
}

std::optional<Json> openapi(std::string_view path) {
  if (path == "/openapi/v3") return openapi_index();
  for (const Resource resource : {Resource::pods, Resource::pod_groups})
    if (path == "/openapi/v3/" + folder_of(resource)) return openapi_of(resource);
  return std::nullopt;
}

}  // namespace

std::optional<Json> discovery(std::string_view path) {
  if (path == "/version")
    return Json{{"major", "1"}, {"minor", "20"}, {"gitVersion", "v1.20.0+tributary"}};
  if (path == "/api")
    return Json{{"kind", "APIVersions"},
                {"versions", Json::array({"v1"})},
                {"serverAddressByClientCIDRs", Json::array()}};
  if (path == "/apis") return group_list();
  if (path == "/apis/scheduling.k8s.io") return one_group();
  if (path == "/api/v1") return core_resources();
  if (path == std::string("/apis/") + kGroupVersion)
    return list(kGroupVersion, Json::array({resource(Resource::pod_groups, true, "pg", kAll)}));
  return openapi(path);
}

}  // namespace tributary::manager::kubernetes
