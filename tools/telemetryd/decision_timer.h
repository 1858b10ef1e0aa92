// When the server looks for the best paths: by the clock, or at the ends of jobs' ops (end of
// transmission, C7).
//
// One thread.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "tools/telemetryd/network_file.h"

namespace tributary::telemetryd {

class DecisionTimer {
 public:
  // Jobs that stand still end no ops: a look comes after so long at the latest.
  static constexpr Duration kIdle = Duration::seconds(1);
  enum class Look : std::uint8_t { none, if_changed, always };

  explicit DecisionTimer(const NetworkDecide& rule) : rule_(rule) {}

  // `ended`: ops of all jobs so far. What is said holds for these ops once.
  Look next(std::uint64_t ended, Instant now) {
    if (rule_.at == DecideAt::timer) return Look::always;
    if (looked_ == Instant() || now - looked_ >= kIdle) return look(ended, now);
    if (ended - seen_ < rule_.ops) return Look::none;
    if (rule_.at == DecideAt::op_end) return look(ended, now);
    seen_ = ended;
    return Look::if_changed;
  }

 private:
  Look look(std::uint64_t ended, Instant now) {
    seen_ = ended;
    looked_ = now;
    return Look::always;
  }

  const NetworkDecide rule_;
  std::uint64_t seen_ = 0;
  Instant looked_;
};

}  // namespace tributary::telemetryd
