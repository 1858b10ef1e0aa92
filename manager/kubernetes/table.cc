#include "manager/kubernetes/table.h"

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

#include "manager/kubernetes/objects.h"

namespace tributary::manager::kubernetes {
namespace {

constexpr int kAlways = 0;
constexpr int kWide = 1;  // only with `-o wide`

struct Row {
  const Json& object;
  std::int64_t now_ms;

  [[nodiscard]] std::string at(const char* pointer) const {
    const Json::json_pointer path(pointer);
    return object.contains(path) && object[path].is_string() ? object[path].get<std::string>() : "";
  }
  [[nodiscard]] std::string annotation(const std::string& name) const {
    const Json& all = object["metadata"]["annotations"];
    return all.value(name, "<none>");
  }
};

struct Column {
  const char* name;
  const char* type;
  int priority;
  std::function<Json(const Row&)> cell;
};

// As kubectl: 42s, 5m, 3h, 12d.
std::string age_of(const std::string& utc, std::int64_t now_ms) {
  std::tm parts{};
  if (utc.empty() || ::strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr)
    return "<unknown>";
  const std::int64_t seconds = std::max<std::int64_t>(now_ms / 1000 - ::timegm(&parts), 0);
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 2 * 3600) return std::to_string(seconds / 60) + "m";
  if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86400) + "d";
}

Column name_column() {
  return {"Name", "string", kAlways, [](const Row& row) { return row.at("/metadata/name"); }};
}

Column age_column() {
  return {"Age", "string", kAlways,
          [](const Row& row) { return age_of(row.at("/metadata/creationTimestamp"), row.now_ms); }};
}

std::string or_none(const std::string& text) {
  return text.empty() ? "<none>" : text;
}

Json ready_of(const Row& row) {
  std::size_t ready = 0;
  if (row.object["status"].contains("containerStatuses"))
    for (const Json& one : row.object["status"]["containerStatuses"])
      if (one["ready"].get<bool>()) ++ready;
  return std::to_string(ready) + "/" + std::to_string(row.object["spec"]["containers"].size());
}

Json pod_status_of(const Row& row) {
  if (row.object["metadata"].contains("deletionGracePeriodSeconds")) return "Terminating";
  const std::string phase = row.at("/status/phase");
  if (phase == "Succeeded") return "Completed";
  return phase == "Failed" ? "Error" : phase;
}

Json restarts_of(const Row& row) {
  std::uint64_t restarts = 0;
  if (row.object["status"].contains("containerStatuses"))
    for (const Json& one : row.object["status"]["containerStatuses"])
      restarts += one["restartCount"].get<std::uint64_t>();
  return restarts;
}

std::vector<Column> pod_columns() {
  return {
      name_column(),
      {"Ready", "string", kAlways, ready_of},
      {"Status", "string", kAlways, pod_status_of},
      {"Restarts", "integer", kAlways, restarts_of},
      age_column(),
      {"Node", "string", kWide, [](const Row& row) { return or_none(row.at("/spec/nodeName")); }},
      {"Devices", "string", kWide,
       [](const Row& row) { return row.annotation(kDevicesAnnotation); }},
      {"Group", "string", kWide,
       [](const Row& row) { return or_none(row.at("/spec/schedulingGroup/podGroupName")); }}};
}

Json node_status_of(const Row& row) {
  return row.object["status"]["conditions"][0]["status"] == "True" ? "Ready" : "NotReady";
}

Json node_devices_of(const Row& row) {
  std::string text;
  for (const auto& [kind, count] : row.object["status"]["capacity"].items())
    if (kind != "cpu" && kind != "memory")
      text += (text.empty() ? "" : ",") + kind + "=" + count.get<std::string>();
  return or_none(text);
}

std::vector<Column> node_columns() {
  const auto capacity = [](const char* what) {
    return [what](const Row& row) -> Json { return row.object["status"]["capacity"][what]; };
  };
  return {name_column(),
          {"Status", "string", kAlways, node_status_of},
          {"CPU", "string", kAlways, capacity("cpu")},
          {"Memory", "string", kAlways, capacity("memory")},
          {"Devices", "string", kAlways, node_devices_of},
          {"Leaf", "string", kWide, [](const Row& row) {
             return row.object["metadata"]["labels"].value(kLeafLabel, "<none>");
           }}};
}

std::vector<Column> group_columns() {
  return {name_column(),
          {"Min", "integer", kAlways,
           [](const Row& row) -> Json {
             return row.object["spec"]["schedulingPolicy"]["gang"]["minCount"];
           }},
          age_column()};
}

std::vector<Column> event_columns() {
  return {{"Last Seen", "string", kAlways,
           [](const Row& row) { return age_of(row.at("/lastTimestamp"), row.now_ms); }},
          {"Type", "string", kAlways, [](const Row& row) { return row.at("/type"); }},
          {"Reason", "string", kAlways, [](const Row& row) { return row.at("/reason"); }},
          {"Object", "string", kAlways,
           [](const Row& row) {
             const std::string kind = row.at("/involvedObject/kind");
             return (kind == "Pod" ? "pod/" : "namespace/") + row.at("/involvedObject/name");
           }},
          {"Message", "string", kAlways, [](const Row& row) { return row.at("/message"); }}};
}

std::vector<Column> columns_of(Resource resource) {
  switch (resource) {
    case Resource::pods: return pod_columns();
    case Resource::pod_groups: return group_columns();
    case Resource::nodes: return node_columns();
    case Resource::events: return event_columns();
    case Resource::spaces: break;
  }
  return {name_column(),
          {"Status", "string", kAlways, [](const Row& row) { return row.at("/status/phase"); }}};
}

Json definition_of(const Column& column) {
  const char* const format = std::string_view(column.name) == "Name" ? "name" : "";
  return {{"name", column.name},
          {"type", column.type},
          {"format", format},
          {"description", column.name},
          {"priority", column.priority}};
}

}  // namespace

Json table_of(Resource resource, std::span<const Json> objects, std::int64_t now_ms,
              const std::string& version) {
  const auto columns = columns_of(resource);
  Json table = {{"kind", "Table"},
                {"apiVersion", "meta.k8s.io/v1"},
                {"metadata", {{"resourceVersion", version}}},
                {"columnDefinitions", Json::array()},
                {"rows", Json::array()}};
  for (const Column& column : columns) table["columnDefinitions"].push_back(definition_of(column));
  for (const Json& object : objects) {
    Json cells = Json::array();
    for (const Column& column : columns) cells.push_back(column.cell({object, now_ms}));
    table["rows"].push_back({{"cells", std::move(cells)},
                             {"object",
                              {{"kind", "PartialObjectMetadata"},
                               {"apiVersion", "meta.k8s.io/v1"},
                               {"metadata", object["metadata"]}}}});
  }
  return table;
}

}  // namespace tributary::manager::kubernetes
