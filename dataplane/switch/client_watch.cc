#include "dataplane/switch/client_watch.h"

namespace tributary::dataplane {

std::optional<Duration> ClientWatch::look(bool connected, std::uint32_t losses, Duration longest,
                                          Instant now) {
  if (connected) {
    gone_.reset();
    return std::nullopt;
  }
  if (!gone_ || gone_->losses != losses) gone_ = Gone{losses, now, now, false};
  if (gone_->settled || now - gone_->told < kReturns) return std::nullopt;
  gone_->told = now;
  const Duration gone = now - gone_->since;
  gone_->settled = gone >= longest;
  return gone;
}

}  // namespace tributary::dataplane
