#include "dataplane/rdma/connected/send_side.h"

#include <algorithm>
#include <array>
#include <bit>

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kRoomForEmptyOnes = 4;

std::size_t entries_for(std::uint32_t window) {
  return std::bit_ceil(2 * std::size_t{window} + kRoomForEmptyOnes);
}

}  // namespace

std::size_t SendSide::table_bytes(std::uint32_t window) {
  return entries_for(window) * sizeof(Entry);
}

SendSide::SendSide(std::uint32_t window)
    : entries_(entries_for(window)),
      mask_(static_cast<std::uint32_t>(entries_.size() - 1)),
      ask_every_(std::clamp(window / 4, 1u, 8u)) {}

void SendSide::start(std::uint32_t psn) {
  oldest_ = cursor_ = unsent_ = next_ = psn & wire::kMaxQpn;
  timeout_ = kFirstTimeout;
  deadline_ = Instant::max();
  waits_ = false;
}

bool SendSide::append(const Entry& entry) {
  if (static_cast<std::size_t>(psn_diff(next_, oldest_)) == entries_.size()) return false;
  entries_[next_ & mask_] = entry;
  next_ = psn_after(next_);
  return true;
}

std::optional<SendSide::Order> SendSide::due() const {
  if (waits_ || cursor_ == next_) return std::nullopt;
  if (psn_diff(cursor_, oldest_) >= static_cast<std::int32_t>(kMostOnTheWay)) return std::nullopt;
  const Entry& entry = at(cursor_);
  const bool alone = cursor_ == oldest_;
  return Order{cursor_, entry, entry.empty || entry.immediate || alone || cursor_ % ask_every_ == 0,
               psn_diff(cursor_, unsent_) < 0};
}

void SendSide::note_sent(Instant now) {
  if (cursor_ == oldest_) deadline_ = now + timeout_;
  if (cursor_ == unsent_) unsent_ = psn_after(unsent_);
  cursor_ = psn_after(cursor_);
}

void SendSide::go_back(std::uint32_t psn, Duration wait, Instant now) {
  cursor_ = psn;
  timeout_ = kFirstTimeout;  // the rank answers: silence begins anew
  waits_ = wait != Duration();
  waits_until_ = now + wait;
  deadline_ = Instant::max();
}

bool SendSide::expire(Instant now) {
  if (waits_ && now >= waits_until_) {
    waits_ = false;
    return true;
  }
  if (now < deadline_) return false;
  timeout_ = std::min(timeout_ * 2, kLastTimeout);
  cursor_ = oldest_;
  deadline_ = Instant::max();
  return true;
}

Duration rnr_time(std::uint8_t code) {
  // In units of 10 µs; the first one stands for the longest.
  constexpr std::array<std::uint32_t, 32> kTimes = {
      65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  return Duration::us(10 * std::int64_t{kTimes[code & 0x1F]});
}

}  // namespace tributary::dataplane
