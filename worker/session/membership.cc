#include "worker/session/membership.h"

namespace tributary::worker {
namespace {

constexpr Duration kJoinPeriod = Duration::ms(100);
constexpr Duration kQuickPeriod = Duration::ms(10);
constexpr Duration kLeavePeriod = Duration::ms(20);

// Another process has the rank, and may end, as may those of another run; or the place's lease will
// lapse; or two switches read a new tree one after the other: JOIN goes on until then, or until the
// timeout.
bool may_be_mended(const wire::Header& nack) {
  return nack.reason == wire::Reason::sender_mismatch || nack.reason == wire::Reason::other_run ||
         nack.reason == wire::Reason::configuration_changed ||
         nack.reason == wire::Reason::planes_mismatch;
}

}  // namespace

Membership::Step Membership::poll_join(Instant now) {
  if (now >= deadline_) return Step::give_up;
  if (now < next_try_) return Step::wait;
  next_try_ = now + (quick_tries_ > 0 ? kQuickPeriod : kJoinPeriod);
  if (quick_tries_ > 0) --quick_tries_;
  return Step::send;
}

Membership::Step Membership::poll_leave(Instant now) {
  if (now < next_try_) return Step::wait;
  if (leaves_left_ == 0) return Step::give_up;
  --leaves_left_;
  next_try_ = now + kLeavePeriod;
  return Step::send;
}

void Membership::wait() {
  held_ = true;
  gone_since_.reset();
  last_refusal_.reason = wire::Reason::none;
}

bool Membership::refuse(const wire::Header& nack, Instant now) {
  held_ = false;
  last_refusal_ = nack;
  if (!goes_on_ || nack.reason != wire::Reason::unknown_job) {
    gone_since_.reset();
    return may_be_mended(nack);
  }
  if (!gone_since_) gone_since_ = now;
  return now - *gone_since_ < kMoveTime;
}

bool Membership::admit(const wire::Header& start) {
  held_ = true;
  epoch_ = start.epoch;
  if (start.child >= start.fan_in) return false;
  child_ = start.child;
  fan_in_ = start.fan_in;
  return true;
}

bool Membership::leave(Instant now, std::uint8_t tries) {
  next_try_ = now;
  leaves_left_ = tries;
  return held_;
}

bool Membership::is_left(const wire::Header& h) const {
  if (h.epoch != epoch_) return false;
  return h.type == wire::PacketType::ack || h.type == wire::PacketType::abort ||
         (h.type == wire::PacketType::nack && h.reason != wire::Reason::sender_mismatch);
}

}  // namespace tributary::worker
