// Opens jobs that ranks bring to the switch, and ends those without members (A4): a thread that
// takes what packet loops have noted, decides, and changes the configuration as `set` would.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "control/change/running_config.h"
#include "control/events/tell.h"
#include "control/open/open_book.h"
#include "dataplane/host/periodic_thread.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

class OpenWatch {
 public:
  // Changes the list of open jobs; throws as RunningConfig::open().
  using Change = std::function<void(const RunningConfig::OpenEdit& edit)>;

  // `tell` and `change` on the watch's thread.
  OpenWatch(dataplane::Switch& sw, Tell tell, Change change);

 private:
  void look(Instant now);
  void consider(const aggregator::OpenRequest& request, Instant now);
  void refuse(const aggregator::OpenRequest& request, const aggregator::JoinRefusal& why,
              const std::string& text, Instant now);
  void end(const std::vector<std::uint32_t>& silent, Duration lease);

  aggregator::OpenDesk& desk_;
  dataplane::Switch& switch_;
  const Tell tell_;
  const Change change_;
  OpenBook book_;
  Instant next_line_;  // about a refusal: hostile ranks must not fill the log
  dataplane::TscClock clock_;
  dataplane::PeriodicThread thread_;  // last: it uses the others
};

}  // namespace tributary::control
