// Ids of jobs. The multicast group of a job is the low 16 bits of its id, so ids that live at once
// differ in those bits, and an id rests after its job before another job may get its bits: frames
// of the old job that are still on the way reach no member of the new one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "core/time.h"

namespace tributary::manager {

class JobIds {
 public:
  static constexpr std::uint32_t kIds = 65'536;

  explicit JobIds(Duration quarantine) : quarantine_(quarantine) {}

  // The id after the one that was given last; nullopt: all live or rest.
  std::optional<std::uint32_t> take(Instant now);
  // An id that a job has already, after a restart. False: its bits are another live job's.
  bool restore(std::uint32_t id);
  void release(std::uint32_t id, Instant now);
  [[nodiscard]] std::size_t live() const;
  // The id that take() tries first. Kept over a restart, so that ids that rested go on resting.
  [[nodiscard]] std::uint32_t next() const { return next_; }
  void resume_at(std::uint32_t next) { next_ = next % kIds == 0 ? 1 : next % kIds; }

 private:
  struct State {
    bool live = false;
    Instant rests_until;
  };
  [[nodiscard]] bool is_free(std::uint32_t low, Instant now) const;

  Duration quarantine_;
  std::uint32_t next_ = 1;
  std::map<std::uint32_t, State> states_;  // by low bits
};

}  // namespace tributary::manager
