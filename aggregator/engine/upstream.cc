#include "aggregator/engine/upstream.h"

#include <algorithm>

namespace tributary::aggregator {
namespace {

// Children repeat JOIN every 100 ms, each at its own time.
constexpr Duration kJoinSpacing = Duration::ms(50);
// Lasts for several rounds of JOINs.
constexpr Duration kRefusalLasts = Duration::ms(500);
constexpr Duration kFarewellPeriod = Duration::ms(20);
constexpr std::uint8_t kFarewellTries = 3;
// LEASE goes out every third of a lease; if it is not answered, every ninth.
constexpr std::int64_t kLeaseShare = 3;
constexpr std::int64_t kUnansweredShare = 9;

}  // namespace

Upstream::Upstream(const config::ParentConfig& parent, const Endpoint& peer, Duration lease,
                   std::uint64_t seed)
    : peer_(peer),
      parent_id_(parent.id),
      child_(parent.child),
      fan_in_(parent.fan_in),
      lease_(lease),
      random_(seed) {}

bool Upstream::join(Instant now, const wire::Resumption& from) {
  // The parent must not take this for a restart: it first has to get the farewell.
  if (state_ == State::leaving || state_ == State::aborting) return false;
  const bool another = from != from_;
  if (another) {  // the parent has refused those that resumed from something else
    from_ = from;
    refusal_ = {};
  }
  if (state_ != State::joining || another) {
    state_ = State::joining;
    nonce_ = random_.next();
    asked_ = false;
    awaited_count_ = 0;
  }
  if (asked_ && now - last_join_ < kJoinSpacing) return false;
  asked_ = true;
  last_join_ = now;
  return true;
}

void Upstream::pending(std::span<const std::uint32_t> ids) {
  refusal_ = {};
  awaited_count_ = std::min(ids.size(), awaited_.size());
  std::copy_n(ids.begin(), awaited_count_, awaited_.begin());
}

void Upstream::refused(const JoinRefusal& refusal, Instant now) {
  refusal_ = refusal;
  refused_at_ = now;
}

// A refusal expires: the cause may be mended when the next children join.
JoinRefusal Upstream::refusal(Instant now) const {
  return now - refused_at_ < kRefusalLasts ? refusal_ : JoinRefusal{};
}

void Upstream::start(std::uint16_t epoch, Instant now) {
  state_ = State::running;
  epoch_ = epoch;
  last_heard_ = last_lease_ = now;
  awaited_count_ = 0;
  refusal_ = {};
}

void Upstream::end() {
  state_ = State::down;
}

void Upstream::say_farewell(State state) {
  state_ = state;
  tries_ = 1;
  next_try_ = Instant();  // the first repetition starts the period
}

Upstream::Due Upstream::due(Instant now) {
  if (state_ == State::running) {
    if (now - last_heard_ >= lease_) return Due::parent_lost;
    const bool unanswered = now - last_heard_ >= lease_ / kLeaseShare;
    if (now - last_lease_ < lease_ / (unanswered ? kUnansweredShare : kLeaseShare))
      return Due::nothing;
    last_lease_ = now;
    return Due::lease;
  }
  if (state_ != State::leaving && state_ != State::aborting) return Due::nothing;
  if (next_try_ == Instant()) next_try_ = now + kFarewellPeriod;
  if (now < next_try_) return Due::nothing;
  if (tries_ == kFarewellTries) {
    end();
    return Due::nothing;
  }
  ++tries_;
  next_try_ = now + kFarewellPeriod;
  return state_ == State::leaving ? Due::leave : Due::abort;
}

}  // namespace tributary::aggregator
