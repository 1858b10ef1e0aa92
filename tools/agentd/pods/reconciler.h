// Brings a node's containers to what its manager wants: strays go, missing ones come, ended ones
// start again where their pod's policy says so.
//
//   list ─▶ remove what no wanted pod has ─▶ create and start what is missing ─▶ states
//
// Containers are known by their labels alone, so an agent that was killed goes on where it stopped.
// Nothing is created while a stray is left: it may hold a device that was given to another pod.
// A container that cannot be started is removed and made anew: a podman that was killed in the
// midst of a start or a removal leaves some that can never be started.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "manager/pods/pod_book.h"
#include "tools/agentd/pods/runtime.h"
#include "tools/agentd/pods/work.h"

namespace tributary::agentd {

class Reconciler {
 public:
  using MakeSpec = std::function<nlohmann::json(const WantedPod&, std::size_t container)>;
  // States after a step, by instance; `applied`: the revision of the work that is carried out.
  struct Result {
    std::uint64_t applied = 0;
    std::map<std::string, manager::InstanceReport> instances;
    std::string problem;                            // of the runtime as a whole; empty: none
    std::vector<RuntimeContainer> containers = {};  // as they were before the step
  };

  Reconciler(Runtime& runtime, MakeSpec make_spec)
      : runtime_(runtime), make_spec_(std::move(make_spec)) {}

  // Waits for a container grow from 1 s by 2 up to 60 s.
  Result step(const Work& work, Instant now);
  // The pod has failed for this reason: from the next step on its containers are removed, and not
  // started again.
  void fail(const std::string& instance, const std::string& why) { failed_[instance] = why; }
  // Ends and removes all containers of the node at once; returns what is left of them.
  std::size_t end_all();

 private:
  struct Attempts {
    std::uint32_t starts = 0;
    Instant next;         // not before
    std::string problem;  // of the last one
  };
  using Found = std::map<std::pair<std::string, std::string>, RuntimeContainer>;

  bool remove_strays(const Work& work, const std::vector<RuntimeContainer>& all, Found& found);
  void forget_attempts(const Work& work);
  manager::InstanceReport end_failed(const WantedPod& wanted, const Found& found);
  manager::InstanceReport run_pod(const WantedPod& wanted, const Found& found, Instant now);
  manager::ContainerStatus run_container(const WantedPod& wanted, std::size_t container,
                                         const RuntimeContainer* there, Instant now);
  std::string create(const nlohmann::json& spec);
  void remove(const RuntimeContainer& one, unsigned grace_s);
  void start(const WantedPod& wanted, std::size_t container, const RuntimeContainer* there,
             Attempts& attempts, Instant now);

  Runtime& runtime_;
  MakeSpec make_spec_;
  std::map<std::pair<std::string, std::string>, Attempts> attempts_;
  std::map<std::string, std::string> failed_;  // why, by instance
  std::map<std::string, unsigned>
      grace_;  // seconds, by instance; of deleted pods until they are gone
};

}  // namespace tributary::agentd
