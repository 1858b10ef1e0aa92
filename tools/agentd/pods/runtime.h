// The container runtime as a node agent sees it; libpod.h is the real one.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace tributary::agentd {

struct RuntimeContainer {
  std::string id;
  std::string instance;   // label: of the pod's attempt
  std::string container;  // label: its name in the pod
  std::string state;      // "created", "running", "exited", ...
  int exit_code = 0;
  int pid = 0;  // 0: none runs
};

// The runtime's own words, with the reason.
class RuntimeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Runtime {
 public:
  virtual ~Runtime() = default;
  // Each throws RuntimeError.
  // All containers of this node, running or not.
  virtual std::vector<RuntimeContainer> list() = 0;
  // Returns the id. `spec`: libpod's SpecGenerator.
  virtual std::string create(const nlohmann::json& spec) = 0;
  virtual void start(const std::string& id) = 0;
  // Ends the process that a runtime which was killed in the midst of a start has left of a
  // container that does not run. Whether there was one is not told.
  virtual void reclaim(const std::string& id) = 0;
  // Ends it, by force after `grace_s` seconds, and removes it; a container that is gone is no
  // error.
  virtual void remove(const std::string& id, unsigned grace_s) = 0;
};

}  // namespace tributary::agentd
