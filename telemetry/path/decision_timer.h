// When the best paths are looked for: by the clock, or at the ends of jobs' ops (end of
// transmission, C7).
//
// One thread.
#pragma once

#include <cstdint>

#include "core/time.h"

namespace tributary::telemetry {

enum class DecideAt : std::uint8_t {
  timer,   // each time that the caller asks
  op_end,  // when so many ops have ended, and after kIdle without
  change,  // then, if a link's figures have changed; and after kIdle in any case
};
struct DecisionRule {
  DecideAt at = DecideAt::timer;
  std::uint32_t ops = 1;  // of all jobs
};

class DecisionTimer {
 public:
  // Jobs that stand still end no ops.
  static constexpr Duration kIdle = Duration::seconds(1);
  enum class Look : std::uint8_t { none, if_changed, always };

  explicit DecisionTimer(const DecisionRule& rule) : rule_(rule) {}

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

  const DecisionRule rule_;
  std::uint64_t seen_ = 0;
  Instant looked_;
};

}  // namespace tributary::telemetry
