#include "dataplane/switch/client_watch.h"

namespace tributary::dataplane {

std::optional<Duration> ClientWatch::look(const Seen& seen, Duration longest, Instant now) {
  const bool died = seen.deaths > deaths_;
  deaths_ = seen.deaths;
  if (seen.connected) {
    gone_.reset();
    return std::nullopt;
  }
  if (!gone_ || gone_->losses != seen.losses) gone_ = Gone{seen.losses, now, now, false};
  if (died) {
    gone_->settled = true;
    return kForGood;
  }
  if (gone_->settled || now - gone_->told < kReturns) return std::nullopt;
  gone_->told = now;
  const Duration gone = now - gone_->since;
  gone_->settled = gone >= longest;
  return gone;
}

}  // namespace tributary::dataplane
