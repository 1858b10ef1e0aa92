#include "sim/node/switch_turns.h"

#include <algorithm>
#include <utility>

namespace tributary::sim {

std::vector<std::uint16_t> SwitchTurns::crash() {
  std::vector<std::uint16_t> ports;
  for (std::size_t i = next_waiting_; i < waiting_.size(); ++i) ports.push_back(waiting_[i].port);
  waiting_.clear();
  next_waiting_ = turn_end_ = 0;
  turn_at_ = Instant::max();
  busy_until_ = Instant();
  return ports;
}

void SwitchTurns::receive(std::uint16_t port, const FrameRef& frame, Instant now) {
  waiting_.push_back({port, frame});
  most_waiting_ = std::max(most_waiting_, waiting_.size() - next_waiting_);
  if (turn_at_ != Instant::max()) return;
  const auto latency = static_cast<std::uint32_t>(turn_max_.to_ns());
  turn_at_ = std::max(now + Duration::ns(random_.below(latency + 1)), busy_until_);
}

bool SwitchTurns::begin(Instant now) {
  if (now >= tick_at_) tick_at_ = now + tick_;
  if (now < busy_until_) return false;
  turn_at_ = Instant::max();
  clear_work();
  const std::size_t burst = cost_.free() ? waiting_.size() : cost_.burst;
  turn_end_ = std::min(waiting_.size(), next_waiting_ + burst);
  return true;
}

std::optional<SwitchTurns::Waiting> SwitchTurns::next() {
  if (next_waiting_ == turn_end_) return std::nullopt;
  Waiting frame = std::move(waiting_[next_waiting_++]);
  spend(cost_.of(frame.frame.wire_bytes()));
  return frame;
}

void SwitchTurns::end(Instant now) {
  busy_ = busy_ + spent_;
  busy_until_ = now + spent_;
  if (next_waiting_ < waiting_.size()) turn_at_ = busy_until_;
  if (2 * next_waiting_ < waiting_.size()) return;
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<long>(next_waiting_));
  next_waiting_ = turn_end_ = 0;
}

Instant SwitchTurns::next_wakeup() const {
  return std::min(turn_at_, tick_at_);
}

std::uint64_t SwitchTurns::waiting_at(std::uint16_t port) const {
  return static_cast<std::uint64_t>(
      std::count_if(waiting_.begin() + static_cast<long>(next_waiting_), waiting_.end(),
                    [port](const Waiting& w) { return w.port == port; }));
}

}  // namespace tributary::sim
