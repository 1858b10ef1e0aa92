#include "control/change/changer.h"

#include <utility>

namespace tributary::control {

Changer::Changer(dataplane::Switch& sw, Report report)
    : switch_(sw), report_(std::move(report)), watch_(std::in_place, sw, report_) {}

config::Change Changer::apply(const config::SwitchConfig& next) {
  if (switch_.config().jobs == next.jobs) return switch_.apply(next);
  watch_.reset();
  config::Change change;
  try {
    change = switch_.apply(next);
  } catch (...) {
    watch_.emplace(switch_, report_);
    throw;
  }
  watch_.emplace(switch_, report_);
  return change;
}

}  // namespace tributary::control
