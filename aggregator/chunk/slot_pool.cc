#include "aggregator/chunk/slot_pool.h"

#include <algorithm>

#include "core/invariant.h"
#include "core/prng.h"

namespace tributary::aggregator {

SlotPool::SlotPool(std::uint32_t slots, std::vector<std::uint32_t> quotas)
    : owners_(slots), shares_(quotas.size()), free_(slots) {
  for (std::size_t job = 0; job < quotas.size(); ++job) shares_[job].quota = quotas[job];
}

void SlotPool::start(std::uint32_t job) {
  if (shares_[job].quota == 0) return;
  shares_[job].running = true;
  share_out();
}

void SlotPool::stop(std::uint32_t job) {
  if (!shares_[job].running) return;
  if (shares_[job].held > 0)
    for (std::uint32_t slot = 0; slot < slots(); ++slot)
      if (owners_[slot].job == job) static_cast<void>(give(slot, job));
  shares_[job].running = false;
  share_out();
}

void SlotPool::share_out() {
  running_ = static_cast<std::uint32_t>(
      std::count_if(shares_.begin(), shares_.end(), [](const Share& s) { return s.running; }));
  unfilled_ = 0;
  for (Share& s : shares_) {
    s.guaranteed = s.running ? std::min(s.quota, slots() / running_) : 0;
    unfilled_ += unfilled(s);
  }
}

// Each seed is like a new random draw. If a seed were a step instead, equal for all jobs, two jobs
// that have collided and both change their seeds would collide again, for ever.
std::uint32_t SlotPool::slot_of(std::uint32_t job, std::uint8_t seed, std::uint32_t seq) const {
  const std::uint64_t key = std::uint64_t{job} << 8 | seed;
  const auto hash = static_cast<std::uint32_t>(split_mix((key + 1) * kSplitMixStep) >> 32);
  return (hash % slots() + seq % slots()) % slots();
}

bool SlotPool::may_take(std::uint32_t job) const {
  const Share& s = shares_[job];
  if (s.held >= s.quota) return false;
  return s.held < s.guaranteed || free_ > unfilled_;
}

bool SlotPool::take(std::uint32_t slot, std::uint32_t job, std::uint32_t seq, Instant now) {
  if (!TRIBUTARY_INVARIANT_HOLDS(owners_[slot].job == kNone)) return false;
  owners_[slot] = {job, seq, now};
  --free_;
  unfilled_ -= unfilled(shares_[job]);
  ++shares_[job].held;
  unfilled_ += unfilled(shares_[job]);
  return true;
}

bool SlotPool::give(std::uint32_t slot, std::uint32_t job) {
  if (!TRIBUTARY_INVARIANT_HOLDS(owners_[slot].job == job)) return false;
  Share& s = shares_[job];
  owners_[slot].job = kNone;
  ++free_;
  unfilled_ -= unfilled(s);
  --s.held;
  unfilled_ += unfilled(s);
  return true;
}

}  // namespace tributary::aggregator
