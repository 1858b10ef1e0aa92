#include "aggregator/shard/open_desk.h"

#include <algorithm>

namespace tributary::aggregator {

namespace {

// Held for as long as it takes to copy the lists.
class Held {
 public:
  explicit Held(std::atomic_flag& busy) : busy_(busy) {}
  ~Held() { busy_.clear(std::memory_order_release); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  std::atomic_flag& busy_;
};

}  // namespace

JoinRefusal OpenDesk::ask(const OpenRequest& request) {
  if (busy_.test_and_set(std::memory_order_acquire)) return {};
  const Held held(busy_);
  for (std::size_t i = 0; i < refused_; ++i)
    if (refusals_[i].job == request.job && refusals_[i].task == request.task)
      return refusals_[i].why;
  const auto end = requests_.begin() + static_cast<std::ptrdiff_t>(waiting_);
  if (waiting_ < kMost && std::find(requests_.begin(), end, request) == end)
    requests_[waiting_++] = request;
  return {};
}

void OpenDesk::allow(const config::JobIds& ids) {
  first_.store(ids.any() ? ids.first : 1, std::memory_order_relaxed);
  last_.store(ids.last, std::memory_order_relaxed);
}

std::vector<OpenRequest> OpenDesk::take(Instant now) {
  std::vector<OpenRequest> taken;
  taken.reserve(kMost);
  while (busy_.test_and_set(std::memory_order_acquire)) {
  }
  const Held held(busy_);
  taken.assign(requests_.begin(), requests_.begin() + static_cast<std::ptrdiff_t>(waiting_));
  waiting_ = 0;
  const auto end = refusals_.begin() + static_cast<std::ptrdiff_t>(refused_);
  const auto kept = std::remove_if(refusals_.begin(), end,
                                   [now](const Refusal& one) { return one.until <= now; });
  refused_ = static_cast<std::size_t>(kept - refusals_.begin());
  return taken;
}

// Where there is no room, the JOIN asks again.
void OpenDesk::refuse(const OpenRequest& request, const JoinRefusal& why, Instant now) {
  while (busy_.test_and_set(std::memory_order_acquire)) {
  }
  const Held held(busy_);
  if (refused_ < kMost)
    refusals_[refused_++] = {request.job, request.task, why, now + kRefusalLasts};
}

}  // namespace tributary::aggregator
