// A pod with what was decided about it and what its node reports.
//
//   pending ──claim──▶ pending, has a node ──containers run──▶ running ──all ended──▶ succeeded
//      ▲                        │                                 │                └─▶ failed
//      └──── node lost, unless restartPolicy is Never: failed ────┘
//
// `deleting` marks a record that goes once its node has no container of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "manager/pods/ask.h"
#include "manager/pods/job_desk.h"
#include "manager/pods/pod.h"

namespace tributary::manager {

enum class PodPhase : std::uint8_t { pending, running, succeeded, failed };
const char* name_of(PodPhase phase);  // "Pending"

struct ContainerStatus {
  std::string name;
  std::string state;  // "waiting", "running", "exited"
  std::int32_t exit_code = 0;
  std::uint32_t restarts = 0;
  std::string message;             // why it waits or how it ended
  std::optional<double> cpu = {};  // share of one CPU that it uses

  bool operator==(const ContainerStatus&) const = default;
};

struct PodRecord {
  Pod pod;
  Ask ask;
  std::uint64_t sequence = 0;  // of all pods ever
  std::uint32_t attempt = 1;   // grows when the pod is placed again
  PodPhase phase = PodPhase::pending;
  std::string node;                  // empty: no place yet
  std::vector<std::string> devices;  // on that node
  bool deleting = false;
  std::string reason;   // "Scheduled", "Unschedulable", "NodeLost"
  std::string message;  // in words, with figures
  std::vector<ContainerStatus> containers;
  std::optional<Seat> seat;      // with a place, where its group has a job
  Instant ended;                 // seen as finished; not stored
  bool is_expired = false;       // removed for its age: an empty group goes with it
  std::uint64_t dropped_at = 0;  // revision of the node's work that is without the pod

  // Names one attempt for good: labels of containers have it.
  [[nodiscard]] std::string instance() const {
    return std::to_string(sequence) + "." + std::to_string(attempt);
  }
  [[nodiscard]] bool finished() const {
    return phase == PodPhase::succeeded || phase == PodPhase::failed;
  }
  // Whether its devices, CPUs and memory are taken.
  [[nodiscard]] bool holds() const { return !node.empty() && !finished(); }
};

// The stored value, and back. load throws std::runtime_error.
std::string store_value(const PodRecord& record);
PodRecord load_pod_record(const std::string& value, const std::string& key);

}  // namespace tributary::manager
