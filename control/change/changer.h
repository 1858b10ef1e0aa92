// Puts another configuration in the place of the one that a switch runs with, and the straggler
// watch with it, which is of one set of jobs: each has its own.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/change/change.h"
#include "control/stragglers/straggler_watch.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

class Changer {
 public:
  using Report = std::function<void(const std::string&)>;

  // `report` gets the lines of the watch.
  Changer(dataplane::Switch& sw, Report report);

  // One thread at a time. Throws as Switch::apply().
  config::Change apply(const config::SwitchConfig& next);
  // False only while jobs change.
  [[nodiscard]] bool watches() const { return watch_.has_value(); }

 private:
  dataplane::Switch& switch_;
  const Report report_;
  std::optional<StragglerWatch> watch_;
};

}  // namespace tributary::control
