// podman's REST interface over its unix socket; the only source that speaks it.
#pragma once

#include <functional>
#include <string>

#include "tools/agentd/pods/runtime.h"

namespace tributary::agentd {

// Labels of every container that an agent makes.
inline constexpr const char* kNodeLabel = "tributary.node";
inline constexpr const char* kInstanceLabel = "tributary.instance";
inline constexpr const char* kPodLabel = "tributary.pod";
inline constexpr const char* kContainerLabel = "tributary.container";

// One thread.
class Libpod : public Runtime {
 public:
  Libpod(std::string socket, std::string node);
  ~Libpod() override;
  Libpod(const Libpod&) = delete;
  Libpod& operator=(const Libpod&) = delete;

  std::vector<RuntimeContainer> list() override;
  std::string create(const nlohmann::json& spec) override;
  void start(const std::string& id) override;
  void reclaim(const std::string& id) override;
  void remove(const std::string& id, unsigned grace_s) override;
  // Asked about once a second while podman has not answered; true ends the wait with a
  // RuntimeError.
  void give_up_when(std::function<bool()> is_time) { gives_up_ = std::move(is_time); }
  // The last lines of what it has printed, as podman's stream of frames. Throws RuntimeError.
  std::string log_frames(const std::string& id, unsigned lines);

 private:
  struct Reply {
    long status = 0;
    std::string body;
  };
  Reply ask(const char* method, const std::string& path, const std::string& body, long timeout_s);
  [[noreturn]] static void fail(const std::string& doing, const Reply& reply);
  [[nodiscard]] std::string escaped(const std::string& text) const;

  const std::string socket_;
  const std::string node_;
  std::function<bool()> gives_up_;  // may be empty
  void* curl_;
};

}  // namespace tributary::agentd
