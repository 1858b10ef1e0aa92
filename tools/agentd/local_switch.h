// One switch of this node, through its control socket: what it is, what it has in force, and the
// newest document, which it is given until it has it.
//
//   desire(document) ─▶ step(): in force? ─no─▶ assign ─▶ report
//                                          └yes──────────▶ report
//
// Level-triggered: of documents that come in between, only the newest is applied. One thread calls
// look() and step(), any may call desire().
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "manager/service/cluster.h"
#include "tools/client/control/control_client.h"

namespace tributary::agentd {

struct Desired {
  config::Version version;
  std::string text;
  manager::SwitchExclusions exclusions = {};  // also of a version that is in force
};

class LocalSwitch {
 public:
  using Ask = std::function<client::Json(const client::Json& request)>;
  // `folder`: where the switch reads documents from. `ask` throws client::ControlError.
  LocalSwitch(Ask ask, std::string folder) : ask_(std::move(ask)), folder_(std::move(folder)) {}

  // The switch's name, address and capacity. Throws client::ControlError when it does not answer.
  manager::SwitchRegistration look();
  void desire(Desired document);
  // Applies what is desired and not in force. Throws client::ControlError when the switch is away.
  manager::SwitchReport step();

 private:
  void apply(const Desired& document, manager::SwitchReport& report);
  [[nodiscard]] config::Version in_force();
  std::vector<manager::Lateness> lateness();
  std::string exclude(const Desired& document, const std::vector<manager::Lateness>& children);
  std::string rule(const char* command, std::uint32_t job, std::uint32_t rank);

  Ask ask_;
  const std::string folder_;
  // A look at every child costs more than one at the jobs.
  static constexpr std::uint64_t kStepsPerLateness = 4;

  std::string name_;
  std::uint64_t steps_ = 0;
  std::string exclusion_problem_;  // of the latest look at the children
  std::mutex mutex_;
  std::optional<Desired> desired_;
};

}  // namespace tributary::agentd
