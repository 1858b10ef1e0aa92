#include "manager/kubernetes/objects.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "manager/kubernetes/request.h"
#include "manager/pods/quantity.h"
#include "manager/service/wall_clock.h"

namespace tributary::manager::kubernetes {
namespace {

// The first digits tell the kinds apart.
std::string uid(Resource resource, std::uint64_t number) {
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%08x-%04x-4000-8000-%012llx",
                static_cast<unsigned>(resource) + 1, static_cast<unsigned>(number >> 48),
                static_cast<unsigned long long>(number & 0xffff'ffff'ffff));
  return text.data();
}

std::uint64_t number_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

Json head_of(Resource resource, Json metadata) {
  return {{"apiVersion", version_of(resource)},
          {"kind", kind_of(resource)},
          {"metadata", std::move(metadata)}};
}

Json metadata_of(const Metadata& from, const std::string& uid) {
  Json metadata = {{"name", from.name}, {"namespace", from.space}, {"uid", uid}};
  if (!from.created.empty()) metadata["creationTimestamp"] = from.created;
  metadata["labels"] = from.labels;
  metadata["annotations"] = from.annotations;
  return metadata;
}

Json container_of(const Container& from) {
  Json to = {{"name", from.name}, {"image", from.image}};
  if (!from.command.empty()) to["command"] = from.command;
  if (!from.args.empty()) to["args"] = from.args;
  if (!from.working_dir.empty()) to["workingDir"] = from.working_dir;
  for (const EnvVar& one : from.env)
    to["env"].push_back({{"name", one.name}, {"value", one.value}});
  Json resources = Json::object();
  if (!from.resources.limits.empty()) resources["limits"] = from.resources.limits;
  if (!from.resources.requests.empty()) resources["requests"] = from.resources.requests;
  to["resources"] = std::move(resources);
  if (from.read_only_root) to["securityContext"]["readOnlyRootFilesystem"] = true;
  return to;
}

Json toleration_of(const Toleration& from) {
  Json to = Json::object();
  if (!from.key.empty()) to["key"] = from.key;
  to["operator"] = from.match == Toleration::Match::exists ? "Exists" : "Equal";
  if (!from.value.empty()) to["value"] = from.value;
  if (!from.effect.empty()) to["effect"] = from.effect;
  return to;
}

constexpr std::array kPolicies = {"Always", "OnFailure", "Never"};

Json spec_of(const PodRecord& record) {
  const PodSpec& from = record.pod.spec;
  Json to = Json::object();
  const std::string& node = record.node.empty() ? from.node_name : record.node;
  if (!node.empty()) to["nodeName"] = node;
  to["restartPolicy"] = kPolicies.at(static_cast<std::size_t>(from.restart_policy));
  to["terminationGracePeriodSeconds"] = from.grace_seconds;
  if (!from.group.empty()) to["schedulingGroup"]["podGroupName"] = from.group;
  for (const Toleration& one : from.tolerations) to["tolerations"].push_back(toleration_of(one));
  for (const Container& one : from.containers) to["containers"].push_back(container_of(one));
  return to;
}

Json condition(const char* type, bool is, const std::string& reason, const std::string& message) {
  Json to = {{"type", type}, {"status", is ? "True" : "False"}};
  if (!reason.empty()) to["reason"] = reason;
  if (!message.empty()) to["message"] = message;
  return to;
}

Json state_of(const ContainerStatus& from) {
  if (from.state == "running") return {{"running", Json::object()}};
  if (from.state != "exited")
    return {{"waiting", {{"reason", "ContainerCreating"}, {"message", from.message}}}};
  const char* const reason = from.exit_code == 0 ? "Completed" : "Error";
  return {{"terminated",
           {{"exitCode", from.exit_code}, {"reason", reason}, {"message", from.message}}}};
}

Json status_of(const ContainerStatus& from, const Container& container) {
  const bool runs = from.state == "running";
  return {{"name", from.name}, {"state", state_of(from)},       {"ready", runs},
          {"started", runs},   {"restartCount", from.restarts}, {"image", container.image},
          {"imageID", ""}};
}

Json statuses_of(const PodRecord& record) {
  Json all = Json::array();
  for (const Container& container : record.pod.spec.containers) {
    const auto at =
        std::find_if(record.containers.begin(), record.containers.end(),
                     [&](const ContainerStatus& status) { return status.name == container.name; });
    if (at != record.containers.end()) all.push_back(status_of(*at, container));
  }
  return all;
}

Json status_of(const PodRecord& record) {
  const bool placed = !record.node.empty();
  const bool runs = record.phase == PodPhase::running;
  const bool ready =
      runs && std::all_of(record.containers.begin(), record.containers.end(),
                          [](const ContainerStatus& one) { return one.state == "running"; });
  Json status = {{"phase", name_of(record.phase)}, {"conditions", Json::array()}};
  Json& conditions = status["conditions"];
  conditions.push_back(condition("PodScheduled", placed, record.reason, record.message));
  const char* const why = record.finished() ? "PodCompleted" : "ContainersNotReady";
  conditions.push_back(condition("Ready", ready, ready ? "" : why, ""));
  if (!record.message.empty()) status["message"] = record.message;
  if (placed && !record.containers.empty()) status["containerStatuses"] = statuses_of(record);
  return status;
}

std::string text_of(const Device& device) {
  std::string text = device.kind;
  if (device.memory_bytes != 0)
    text += ", " + format_bytes(device.memory_bytes) + ", free " + format_bytes(device.free_bytes);
  text += ", load " + std::to_string(static_cast<int>(device.load * 100)) + "%";
  if (!device.claimed_by.empty()) text += ", of pod " + device.claimed_by;
  if (!device.problem.empty()) text += ", unusable: " + device.problem;
  return text;
}

Json capacity_of(const Node& node) {
  Json to = {{"cpu", std::to_string(node.cpu_millis) + "m"},
             {"memory", format_bytes(node.memory_bytes)}};
  std::map<std::string, unsigned> kinds;
  for (const Device& device : node.devices)
    if (device.problem.empty()) ++kinds[device.kind];
  for (const auto& [kind, count] : kinds) to[kind] = std::to_string(count);
  return to;
}

}  // namespace

std::string uid_of(const PodRecord& record) {
  return uid(Resource::pods, record.sequence);
}

Json object_of(const PodRecord& record) {
  Json metadata = metadata_of(record.pod.metadata, uid_of(record));
  if (!record.pod.spec.group.empty()) metadata["labels"][kPodGroupLabel] = record.pod.spec.group;
  std::string devices;
  for (const std::string& one : record.devices) devices += (devices.empty() ? "" : ",") + one;
  if (!devices.empty()) metadata["annotations"][kDevicesAnnotation] = devices;
  if (record.deleting) metadata["deletionGracePeriodSeconds"] = record.pod.spec.grace_seconds;
  Json object = head_of(Resource::pods, std::move(metadata));
  object["spec"] = spec_of(record);
  object["status"] = status_of(record);
  return object;
}

Json object_of(const PodGroup& group) {
  const Metadata& metadata = group.metadata;
  Json object = head_of(Resource::pod_groups,
                        metadata_of(metadata, uid(Resource::pod_groups,
                                                  number_of(metadata.name + metadata.created))));
  object["spec"]["schedulingPolicy"]["gang"]["minCount"] = group.min_count;
  if (group.together != Together::anywhere)
    object["spec"]["schedulingConstraints"]["topologyKey"] =
        group.together == Together::host ? kHostLabel : kLeafLabel;
  return object;
}

Json object_of(const Node& node) {
  Json labels = {{kHostLabel, node.name}};
  if (!node.leaf.empty()) labels[kLeafLabel] = node.leaf;
  Json annotations = Json::object();
  for (const Device& device : node.devices)
    annotations[kDevicePrefix + device.name] = text_of(device);
  Json object = head_of(Resource::nodes, {{"name", node.name},
                                          {"uid", uid(Resource::nodes, number_of(node.name))},
                                          {"labels", labels},
                                          {"annotations", annotations}});
  object["spec"] = Json::object();
  for (const Taint& taint : node.taints)
    object["spec"]["taints"].push_back(
        {{"key", taint.key}, {"value", taint.value}, {"effect", taint.effect}});
  Json& status = object["status"];
  status["capacity"] = capacity_of(node);
  status["allocatable"] = status["capacity"];
  status["conditions"] = Json::array(
      {node.ready ? condition("Ready", true, "AgentReports", "")
                  : condition("Ready", false, "AgentIsSilent", "the node's lease is over")});
  return object;
}

Json object_of(const PodEvent& event, const std::string& uid) {
  const bool of_pod = !event.pod.empty();
  const std::string about = of_pod ? event.pod : "manager";
  const std::string time = utc_text(event.time_ms);
  const bool warns =
      event.kind == "lost" || event.kind == "Failed" || event.kind == "unschedulable";
  Json object =
      head_of(Resource::events, {{"name", about + "." + std::to_string(event.sequence)},
                                 {"namespace", kSpace},
                                 {"uid", kubernetes::uid(Resource::events, event.sequence)},
                                 {"creationTimestamp", time}});
  object["involvedObject"] = {{"kind", of_pod ? "Pod" : "Namespace"},
                              {"apiVersion", "v1"},
                              {"name", of_pod ? event.pod : kSpace},
                              {"namespace", kSpace}};
  if (!uid.empty()) object["involvedObject"]["uid"] = uid;
  object["reason"] = event.kind;
  object["message"] = event.message;
  object["source"]["component"] = "tributary-managerd";
  object["firstTimestamp"] = time;
  object["lastTimestamp"] = time;
  object["count"] = 1;
  object["type"] = warns ? "Warning" : "Normal";
  return object;
}

Json object_of_space() {
  Json object =
      head_of(Resource::spaces,
              {{"name", kSpace}, {"uid", uid(Resource::spaces, 0)}, {"labels", Json::object()}});
  object["status"]["phase"] = "Active";
  return object;
}

}  // namespace tributary::manager::kubernetes
