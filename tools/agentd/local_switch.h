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
  // Also of a version that is in force.
  manager::SwitchExclusions exclusions = {};
  manager::HostOrders hosts = {};
};

class LocalSwitch {
 public:
  using Ask = std::function<client::Json(const client::Json& request)>;
  using Clock = std::function<Instant()>;
  // `folder`: where the switch reads documents from. `ask` throws client::ControlError.
  LocalSwitch(Ask ask, std::string folder, Clock now)
      : ask_(std::move(ask)), folder_(std::move(folder)), now_(std::move(now)) {}

  // The switch's name, address and capacity. Throws client::ControlError when it does not answer.
  manager::SwitchRegistration look();
  void desire(Desired document);
  // Applies what is desired and not in force. Throws client::ControlError when the switch is away.
  manager::SwitchReport step();

 private:
  // The document of the switch.
  struct InForce {
    config::Version version;
    bool kept = true;  // a restart knows it
    // The document as reports say it: none, where a restart would not know it; it is assigned
    // again.
    [[nodiscard]] config::Version applied() const { return kept ? version : config::Version{}; }
  };

  void apply(const Desired& document, manager::SwitchReport& report);
  [[nodiscard]] InForce in_force();
  std::vector<manager::Lateness> lateness();
  std::string exclude(const Desired& document, const std::vector<manager::Lateness>& children);
  std::string rule(const char* command, std::uint32_t job, std::uint32_t rank);
  // The switch's answer to a request that it may refuse; empty: it did not.
  std::string refusal_of(const client::Json& request);
  std::vector<manager::HostSeat> seats();
  std::vector<manager::Neighbour> neighbours();
  std::optional<std::uint64_t> load();
  std::string rank_hosts(const Desired& document, const std::vector<manager::HostSeat>& there);

  Ask ask_;
  const std::string folder_;
  Clock now_;
  // A look at every child and host costs more than one at the jobs.
  static constexpr std::uint64_t kStepsPerLook = 4;
  static constexpr Duration kBetweenLoads = Duration::seconds(2);

  std::string name_;
  std::uint64_t steps_ = 0;  // with jobs
  std::uint64_t looks_ = 0;
  std::string exclusion_problem_;  // of the latest look at the children
  std::string ranking_problem_;
  manager::HostOrders told_hosts_;  // to this switch, since it is there
  struct Passed {
    std::uint64_t bytes = 0;
    Instant at;
  };
  std::optional<Passed> passed_;  // through its ports, at the latest look
  std::mutex mutex_;
  std::optional<Desired> desired_;
};

}  // namespace tributary::agentd
