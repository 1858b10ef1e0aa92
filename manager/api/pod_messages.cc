#include "manager/api/pod_messages.h"

#include <algorithm>
#include <cmath>

#include "manager/api/messages.h"

namespace tributary::manager {
namespace {

constexpr int kMostDevices = 256;
constexpr int kMostTaints = 64;
constexpr int kMostInstances = 4096;
constexpr int kMostContainers = 16;
constexpr std::size_t kMostText = 1024;
constexpr std::uint64_t kMostIdleMilliseconds = 1ull << 40;

std::string cut(const std::string& text) {
  return bounded(text, kMostText);
}

double share(double value) {
  return std::isfinite(value) ? std::clamp(value, 0.0, 1.0) : 1.0;
}

ContainerStatus status_of(const v1::ContainerInfo& from) {
  ContainerStatus status{cut(from.name()), cut(from.state()), from.exit_code(), from.restarts(),
                         cut(from.message())};
  if (from.has_cpu() && std::isfinite(from.cpu())) status.cpu = from.cpu();
  return status;
}

Device device_of(const v1::DeviceInfo& from) {
  return {.name = cut(from.name()),
          .kind = cut(from.kind()),
          .memory_bytes = from.memory_bytes(),
          .free_bytes = from.free_bytes(),
          .load = share(from.load()),
          .problem = cut(from.problem())};
}

PodPhase phase_of(const std::string& name) {
  for (const PodPhase phase : {PodPhase::running, PodPhase::succeeded, PodPhase::failed})
    if (name == name_of(phase)) return phase;
  return PodPhase::pending;
}

// Calls `use` for the first `most` items.
template <typename Items, typename Use>
void each_of(const Items& items, int most, Use use) {
  for (int i = 0; i < std::min(items.size(), most); ++i) use(items[i]);
}

Node node_of(const v1::NodeInfo& from) {
  Node node;
  node.leaf = cut(from.leaf());
  node.cpu_millis = from.cpu_millis();
  node.memory_bytes = from.memory_bytes();
  node.cpu_load = share(from.cpu_load());
  each_of(from.taints(), kMostTaints, [&](const v1::TaintInfo& taint) {
    node.taints.push_back({cut(taint.key()), cut(taint.value()), cut(taint.effect())});
  });
  // Ports are the topology's to give, not an agent's.
  each_of(from.devices(), kMostDevices, [&](const v1::DeviceInfo& device) {
    if (device.kind() != kPortKind && !device.name().starts_with(kPortPrefix))
      node.devices.push_back(device_of(device));
  });
  return node;
}

}  // namespace

void fill(const ContainerStatus& from, v1::ContainerInfo& to) {
  to.set_name(from.name);
  to.set_state(from.state);
  to.set_exit_code(from.exit_code);
  to.set_restarts(from.restarts);
  to.set_message(from.message);
  if (from.cpu) to.set_cpu(*from.cpu);
}

void fill(const PodRecord& from, v1::PodInfo& to) {
  to.set_name(from.pod.metadata.name);
  to.set_phase(name_of(from.phase));
  to.set_node(from.node);
  for (const std::string& device : from.devices) to.add_devices(device);
  to.set_group(from.pod.spec.group);
  to.set_reason(from.reason);
  to.set_message(from.message);
  to.set_deleting(from.deleting);
  to.set_instance(from.instance());
  for (const ContainerStatus& one : from.containers) fill(one, *to.add_containers());
  if (from.seat) fill(*from.seat, *to.mutable_seat());
}

void fill(const GroupLoad& from, v1::GroupInfo& to) {
  to.set_name(from.name);
  to.set_min_count(from.min_count);
  to.set_pods(static_cast<std::uint32_t>(from.pods));
  to.set_running(static_cast<std::uint32_t>(from.running));
  if (from.cpu) to.set_cpu(*from.cpu);
  to.set_devices(static_cast<std::uint32_t>(from.devices));
  if (from.load) to.set_load(*from.load);
}

void fill(const Seat& from, v1::SeatInfo& to) {
  to.set_job(from.job);
  to.set_id(from.id);
  to.set_rank(from.rank);
  to.set_size(from.size);
  to.set_local_rank(from.local_rank);
  to.set_local_size(from.local_size);
  to.set_port(from.port);
  to.set_address(from.address);
}

Seat seat_of(const v1::SeatInfo& from) {
  return {.job = from.job(),
          .id = from.id(),
          .rank = from.rank(),
          .size = from.size(),
          .local_rank = from.local_rank(),
          .local_size = from.local_size(),
          .port = from.port(),
          .address = from.address()};
}

void fill(const Node& from, v1::NodeInfo& to) {
  to.set_name(from.name);
  to.set_leaf(from.leaf);
  to.set_ready(from.ready);
  for (const Taint& taint : from.taints) {
    v1::TaintInfo& added = *to.add_taints();
    added.set_key(taint.key);
    added.set_value(taint.value);
    added.set_effect(taint.effect);
  }
  to.set_cpu_millis(from.cpu_millis);
  to.set_cpu_millis_used(from.cpu_millis_used);
  to.set_memory_bytes(from.memory_bytes);
  to.set_memory_used(from.memory_used);
  to.set_cpu_load(from.cpu_load);
  for (const Device& device : from.devices) {
    v1::DeviceInfo& added = *to.add_devices();
    added.set_name(device.name);
    added.set_kind(device.kind);
    added.set_memory_bytes(device.memory_bytes);
    added.set_free_bytes(device.free_bytes);
    added.set_load(device.load);
    added.set_problem(device.problem);
    added.set_pod(device.claimed_by);
  }
}

void fill(const PodBook::Work& from, v1::NodeWork& to) {
  to.set_revision(from.revision);
  to.set_has_pods(true);
  for (const PodRecord* record : from.pods) {
    v1::PodWork& pod = *to.add_pods();
    pod.set_instance(record->instance());
    pod.set_name(record->pod.metadata.name);
    Pod manifest = record->pod;
    manifest.metadata.created.clear();  // no agent's business, and unknown to older ones
    pod.set_manifest(dump(manifest));
    for (const std::string& device : record->devices)
      if (!device.starts_with(kPortPrefix)) pod.add_devices(device);
    if (record->seat) fill(*record->seat, *pod.mutable_seat());
    pod.set_finished(record->finished());
  }
}

void fill(const LogQuestion& from, v1::LogQuestion& to) {
  to.set_id(from.id);
  to.set_instance(from.instance);
  to.set_container(from.container);
  to.set_lines(from.lines);
}

LogQuestion log_question_of(const v1::LogQuestion& from) {
  return {from.id(), from.instance(), from.container(), from.lines()};
}

LogAnswer log_answer_of(const v1::LogAnswer& from) {
  return {from.text(), cut(from.problem())};
}

NodeReport node_report_of(const v1::NodeReport& from) {
  NodeReport report;
  report.figures = node_of(from.node());
  report.applied = from.applied();
  each_of(from.instances(), kMostInstances, [&](const v1::InstanceInfo& instance) {
    InstanceReport& to = report.instances[cut(instance.instance())];
    to.phase = phase_of(instance.phase());
    to.message = cut(instance.message());
    to.idle = Duration::ms(
        static_cast<std::int64_t>(std::min(instance.idle_ms(), kMostIdleMilliseconds)));
    each_of(instance.containers(), kMostContainers, [&](const v1::ContainerInfo& container) {
      to.containers.push_back(status_of(container));
    });
  });
  return report;
}

}  // namespace tributary::manager
