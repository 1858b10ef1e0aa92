// Requests of Kubernetes' REST interface, and what their paths mean (Kubernetes API Concepts,
// "Resource URIs"):
//
//   /api/v1/nodes[/NAME]      /apis/scheduling.k8s.io/v1alpha2/podgroups
//   /api/v1/pods              /apis/scheduling.k8s.io/v1alpha2/namespaces/SPACE/podgroups[/NAME]
//   /api/v1/namespaces/SPACE/pods[/NAME[/log]]
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace tributary::manager::kubernetes {

inline constexpr const char* kSpace = "default";  // the only namespace
inline constexpr const char* kGroupVersion = "scheduling.k8s.io/v1alpha2";

struct Request {
  std::string method;  // "GET"
  std::string path;
  std::map<std::string, std::string> query = {};  // decoded
  std::string accept = {};                        // the header
  std::string body = {};

  // The query's value, or "".
  [[nodiscard]] std::string asked(const std::string& name) const;
  // Whether it is "true" or "1".
  [[nodiscard]] bool asks(const std::string& name) const;
  // Whether the client wants lists as tables (meta.k8s.io/v1 Table).
  [[nodiscard]] bool wants_table() const;
};

enum class Resource : std::uint8_t { pods, pod_groups, nodes, events, spaces };
const char* plural_of(Resource resource);   // "podgroups"
const char* kind_of(Resource resource);     // "PodGroup"
const char* version_of(Resource resource);  // its apiVersion

struct Target {
  Resource resource = Resource::pods;
  std::string space = {};  // empty: of all namespaces, or of none
  std::string name = {};   // empty: all
  std::string part = {};   // "log"
};

// nullopt: nothing is there.
std::optional<Target> target_of(std::string_view path);

}  // namespace tributary::manager::kubernetes
