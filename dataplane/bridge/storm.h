// Storm control: limits, per ingress port, of frames that go to many ports.
//
// Each kind has a bucket of its own, so that a storm of one does not silence the others. State of
// one lcore; frames of a port that several lcores receive are limited on each of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "config/model/switch_config.h"
#include "core/time.h"
#include "dataplane/frame/token_bucket.h"

namespace tributary::dataplane {

enum class Flooded : std::uint8_t { broadcast, multicast, unknown_unicast };

class StormControl {
 public:
  explicit StormControl(const std::vector<config::PortConfig>& ports);

  // No port has a limit.
  [[nodiscard]] bool idle() const { return idle_; }
  // False: the frame exceeds the limit.
  bool permit(std::uint16_t port, Flooded kind, Instant now) {
    auto& bucket = buckets_[port][static_cast<std::size_t>(kind)];
    return !bucket || bucket->take(now);
  }

 private:
  static constexpr std::size_t kKinds = 3;
  bool idle_ = true;
  std::vector<std::array<std::optional<TokenBucket>, kKinds>> buckets_;
};

}  // namespace tributary::dataplane
