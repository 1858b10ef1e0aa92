// A container runtime in memory.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "manager/pods/manifest.h"
#include "tools/agentd/pods/libpod.h"
#include "tools/agentd/pods/work.h"

namespace tributary::agentd {

class FakeRuntime : public Runtime {
 public:
  std::vector<RuntimeContainer> list() override {
    if (away) throw RuntimeError("podman does not answer");
    std::vector<RuntimeContainer> all;
    for (const auto& [id, one] : containers) all.push_back(one);
    return all;
  }
  std::string create(const nlohmann::json& spec) override {
    std::string name = spec["name"];
    calls.push_back("create " + name);
    if (refused.contains("create")) throw RuntimeError("no such image");
    if (kept_names.contains(name))
      throw RuntimeError("the container name \"" + name + "\" is already in use by 2be9");
    const auto& labels = spec["labels"];
    containers[name] = {name, labels[kInstanceLabel], labels[kContainerLabel], "created", 0};
    return name;
  }
  void start(const std::string& id) override {
    calls.push_back("start " + id);
    if (refused.contains("start")) throw RuntimeError("no such device");
    // As podman: these start never again.
    if (containers.at(id).state == "initialized" || containers.at(id).state == "removing")
      throw RuntimeError("container state improper");
    containers.at(id).state = "running";
  }
  void reclaim(const std::string& id) override { calls.push_back("reclaim " + id); }
  void remove(const std::string& id, unsigned grace_s) override {
    calls.push_back("remove " + id);
    grace_seconds = grace_s;
    if (refused.contains("remove")) throw RuntimeError("busy");
    containers.erase(id);
    kept_names.erase(id);
  }

  bool away = false;
  unsigned grace_seconds = 0;  // of the last removal
  std::set<std::string> refused;
  std::set<std::string> kept_names;  // of containers that it does not list
  std::map<std::string, RuntimeContainer> containers;
  std::vector<std::string> calls;
};

inline WantedPod wanted_pod(const std::string& name, const std::string& instance,
                            manager::RestartPolicy policy = manager::RestartPolicy::always) {
  WantedPod wanted;
  wanted.instance = instance;
  wanted.pod.metadata.name = name;
  wanted.pod.spec.restart_policy = policy;
  manager::Container container;
  container.name = "main";
  container.image = "rootfs:busybox";
  container.command = {"sleep", "5"};
  wanted.pod.spec.containers.push_back(container);
  return wanted;
}

}  // namespace tributary::agentd
