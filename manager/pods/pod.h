// Pods and groups of pods, in the words of Kubernetes' manifests: the subset that is placed here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tributary::manager {

// Annotations with a meaning of their own.
inline constexpr const char* kDeviceAnnotation = "tributary/device";  // "NODE/DEVICE" or "DEVICE"
inline constexpr const char* kDeviceMemoryAnnotation = "tributary/device-memory";  // "8Gi"
inline constexpr const char* kLoadBelowAnnotation = "tributary/load-below";  // "0.5", "a.b/c=0.5"
inline constexpr const char* kJobAnnotation = "tributary/job";               // be near its switches
inline constexpr const char* kIdleAnnotation = "tributary/idle-seconds";     // then it is removed
// Seconds after its end, as of Kubernetes' Jobs; then it is removed.
inline constexpr const char* kTtlAnnotation = "tributary/ttl-seconds-after-finished";
inline constexpr const char* kPackingAnnotation = "tributary/packing";  // "pack" or "spread"
// The request of the job whose ranks a PodGroup's pods are, as `tributary job submit` has it.
inline constexpr const char* kJobRequestAnnotation = "tributary/job-request";
// The kind under which a node has the ports of switches that its containers lease.
inline constexpr const char* kPortKind = "tributary/port";
// Labels of nodes, which groups may be kept together by.
inline constexpr const char* kHostLabel = "kubernetes.io/hostname";
inline constexpr const char* kLeafLabel = "tributary/leaf";  // the leaf switch
// The resource of what a container may write to its node's disk; no node runs out of it.
inline constexpr const char* kDiskResource = "ephemeral-storage";
// An image that is a folder of the node, below the agent's folder of roots.
inline constexpr const char* kRootfsPrefix = "rootfs:";

using TextMap = std::map<std::string, std::string>;

struct Metadata {
  std::string name = {};
  std::string space = "default";
  std::string created = {};  // "2026-11-28T11:33:59Z", by the manager's clock
  TextMap labels = {};
  TextMap annotations = {};
};

struct EnvVar {
  std::string name = {};
  std::string value = {};
};

// Quantities by resource: "cpu", "memory", or a kind of device, "example.com/npu".
struct Resources {
  TextMap limits = {};
  TextMap requests = {};
};

struct Container {
  std::string name = {};
  std::string image = {};  // a reference, or "rootfs:NAME"
  std::vector<std::string> command = {};
  std::vector<std::string> args = {};
  std::vector<EnvVar> env = {};
  std::string working_dir = {};
  Resources resources = {};
  bool privileged = false;  // only false is let in
  bool read_only_root = false;
};

struct Toleration {
  enum class Match : std::uint8_t { equal, exists };
  std::string key = {};  // empty with `exists`: every taint
  Match match = Match::equal;
  std::string value = {};
  std::string effect = {};  // empty: every effect
};

enum class RestartPolicy : std::uint8_t { always, on_failure, never };

struct PodSpec {
  std::string node_name = {};  // empty: the scheduler chooses
  RestartPolicy restart_policy = RestartPolicy::always;
  std::string group = {};  // of a PodGroup; empty: none
  std::vector<Toleration> tolerations = {};
  std::vector<Container> containers = {};
  bool host_network = false;  // only false is let in, as for the two below
  bool host_pid = false;
  bool host_ipc = false;
  std::uint32_t grace_seconds = 10;  // between SIGTERM and SIGKILL
};

struct Pod {
  Metadata metadata = {};
  PodSpec spec = {};
};

// Where the pods of a group have to be in relation to each other.
enum class Together : std::uint8_t { anywhere, leaf, host };

struct PodGroup {
  Metadata metadata = {};
  std::uint32_t min_count = 1;  // pods that are placed at once, or none
  Together together = Together::anywhere;
};

}  // namespace tributary::manager
