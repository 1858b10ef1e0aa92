// Changes of a running switch that clients, signals and the collision watch ask for: carried out,
// and told to the event log. Any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "control/change/request.h"
#include "control/change/running_config.h"
#include "control/collisions/collision_remedy.h"
#include "control/events/tell.h"

namespace tributary::control {

class Changes {
 public:
  // `path`: the switch's file, for the log. `has_manager`: assigned documents are taken.
  Changes(RunningConfig& running, Tell tell, std::string path, bool has_manager);

  // Each throws as RunningConfig does.
  std::string reload();
  nlohmann::ordered_json set(const SetRequest& request);
  // Reads request.file. Throws std::invalid_argument without a manager.
  nlohmann::ordered_json assign(AssignRequest request);
  // A change that holds, but for a part of it, is made.
  void remedy(const CollisionRemedy& remedy);

  // No client waits for an answer: errors go to the log alone.
  void reload_on_signal();

 private:
  std::string tell_reloaded(const Reloaded& reloaded);

  RunningConfig& running_;
  const Tell tell_;
  const std::string path_;
  const bool has_manager_;
};

}  // namespace tributary::control
