// The thread that keeps a node's containers as its manager wants them.
//
//   desire(work) ─▶ each turn: lease over? ─yes─▶ end all containers
//                                   └no──▶ devices, CDI files, Reconciler ─▶ figures, states
//
// Any thread may call.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "tools/agentd/pods/cdi.h"
#include "tools/agentd/pods/container_load.h"
#include "tools/agentd/pods/container_spec.h"
#include "tools/agentd/pods/disk_watch.h"
#include "tools/agentd/pods/host.h"
#include "tools/agentd/pods/lease.h"
#include "tools/agentd/pods/libpod.h"
#include "tools/agentd/pods/nvml_probe.h"
#include "tools/agentd/pods/reconciler.h"

namespace tributary::agentd {

struct NodeOptions {
  std::string name;
  std::string leaf;  // switch; empty: as the topology has it
  std::string podman = "/run/podman/podman.sock";
  std::string roots = "/var/lib/tributary-agent/roots";
  std::string devices;  // file of declared devices; empty: none
  std::string cdi = "/etc/cdi";
  std::string network = "none";
  std::vector<std::string> taints;  // "KEY=VALUE:EFFECT"
  std::uint64_t pids = 1024;
  std::uint64_t disk = std::uint64_t{10} << 30;  // bytes that a container may write
};

// Throws std::invalid_argument.
manager::Taint parse_taint(const std::string& text);
// Time since the machine's start, sleep included.
Instant boot_time();

struct NodeState {
  manager::Node node;
  Reconciler::Result result;
};

class PodRunner {
 public:
  using Tell = std::function<void(const std::string& problem)>;
  // `state`: folder. `changed` is called after each turn in which a state has changed.
  PodRunner(const NodeOptions& options, const std::string& state, std::function<void()> changed,
            Tell tell);
  ~PodRunner();
  PodRunner(const PodRunner&) = delete;
  PodRunner& operator=(const PodRunner&) = delete;

  void desire(Work work);
  // A new stream: what was carried out of an earlier manager's work says nothing.
  void forget_applied();
  [[nodiscard]] NodeState state() const;
  void sent(std::uint64_t sequence);
  void acknowledged(std::uint64_t sequence, Duration lease);

 private:
  void run();
  void turn();
  std::string try_turn();
  [[nodiscard]] std::vector<LocalDevice> all_devices() const;
  void look_at_devices();
  [[nodiscard]] SpecSettings settings() const;
  [[nodiscard]] bool gives_up() const;
  void publish(Reconciler::Result result);

  const NodeOptions options_;
  const std::function<void()> changed_;
  const Tell tell_;
  std::vector<manager::Taint> taints_;
  Host host_;
  NvmlProbe nvml_;
  CdiFolder cdi_;
  Libpod libpod_;
  Reconciler reconciler_;
  DiskWatch disk_;
  ContainerLoad load_;
  std::vector<LocalDevice> devices_;  // of the runner's thread
  std::string device_problem_;
  std::string last_states_;
  bool ending_ = false;  // all containers, since the lease is over

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Lease lease_;
  std::optional<Work> work_;
  NodeState state_;
  bool news_ = false;
  bool stopping_ = false;
  std::thread thread_;  // last: begins when all else is there
};

}  // namespace tributary::agentd
