// When each port last dropped a packet, by reason, as exactly as it is looked at: old drops say
// nothing about what is wrong now.
//
// Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

#include "config/model/switch_config.h"
#include "core/drop_reason.h"
#include "core/time.h"

namespace tributary::dataplane {

class DropAges {
 public:
  // `drops`: all that the port at this place has dropped so far.
  void look(std::size_t place, const DropCounters& drops, Instant now);
  // How long ago the last of `count` packets was dropped.
  [[nodiscard]] Duration age(std::size_t place, DropReason reason, std::uint64_t count,
                             Instant now);

 private:
  struct Seen {
    std::uint64_t count = 0;
    Instant at;  // when it was first seen
  };
  using OfPort = std::array<Seen, kDropReasonCount>;

  std::mutex mutex_;
  std::array<std::unique_ptr<OfPort>, config::kMaxPorts> seen_;  // nullptr: never looked at
};

}  // namespace tributary::dataplane
