// Looks at the slot collisions of dynamic jobs once a second, says what keeps happening, and mends
// it where the configuration has `collisions: act`. A thread of its own, which reads counters;
// packet loops notice nothing of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "control/collisions/collision_judge.h"
#include "control/collisions/slot_governor.h"
#include "dataplane/host/periodic_thread.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

class CollisionWatch {
 public:
  // `report` gets a line for each job whose verdict changes, and for each change; `set` changes a
  // job. Both on the watch's thread.
  CollisionWatch(dataplane::Switch& sw, std::function<void(const std::string&)> report,
                 SlotGovernor::Set set);

  // `show collisions`: the last look. Any thread.
  [[nodiscard]] nlohmann::ordered_json rows() const;
  // One look, as the thread takes it once a second.
  void look();

 private:
  void govern(bool acts);

  dataplane::Switch& switch_;
  const std::function<void(const std::string&)> report_;
  mutable std::mutex judging_;
  CollisionJudge judge_;
  SlotGovernor governor_;                          // of the watch's thread
  std::map<std::uint32_t, CollisionRemedy> made_;  // by the governor
  dataplane::PeriodicThread thread_;               // last: it uses the others
};

}  // namespace tributary::control
