// A pod's demands on its place: the sum over its containers, and its annotations.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "manager/pods/pod.h"

namespace tributary::manager {

struct Ask {
  std::string pod;
  std::uint64_t cpu_millis = 0;
  std::uint64_t memory_bytes = 0;
  std::map<std::string, std::uint32_t> devices;  // how many, by kind
  std::uint64_t device_memory = 0;               // free memory of each device
  // By kind, "cpu" included; "" stands for the kinds that have none. Left out: the cluster's.
  std::map<std::string, double> load_below;
  std::string node;    // the only one allowed; empty: any
  std::string device;  // name of the first device; empty: any
  std::vector<Toleration> tolerations;
  std::string job;  // empty: none
  bool pack = false;
  std::optional<std::uint32_t> ttl_s;  // after its end it is removed; nullopt: it is kept
  std::uint32_t idle_after_s = 0;      // idle for so long, it is removed; 0: never

  // Whether it asks for no device but a port.
  [[nodiscard]] bool runs_on_cpus() const;
  // Whether another pod that asks for the same may take its place.
  [[nodiscard]] bool is_like(const Ask& other) const;
  // The threshold for a kind, or `otherwise`.
  [[nodiscard]] double threshold(const std::string& kind, double otherwise) const;
};

// `complain(path, message)` for each mistake; paths are within the pod.
using Complain = std::function<void(const std::string& path, const std::string& message)>;
Ask ask_of(
    const Pod& pod, const Complain& complain = [](const auto&, const auto&) {});

}  // namespace tributary::manager
