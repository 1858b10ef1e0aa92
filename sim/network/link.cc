#include "sim/network/link.h"

#include <algorithm>

namespace tributary::sim {

Duration Link::uniform(Duration least, Duration most) {
  const std::int64_t range = std::min<std::int64_t>((most - least).to_ns(), 0xFFFFFFFE);
  if (range <= 0) return least;
  return least + Duration::ns(random_.below(static_cast<std::uint32_t>(range) + 1));
}

Transmission Link::transmit(std::size_t bytes, Instant now) {
  Transmission t;
  busy_until_ = std::max(busy_until_, now);
  if (quality_.bits_per_second != 0) {
    const auto rate = static_cast<std::int64_t>(quality_.bits_per_second);
    const std::int64_t backlog_bytes = (busy_until_ - now).to_ns() / 8 * rate / 1'000'000'000;
    if (backlog_bytes + static_cast<std::int64_t>(bytes) > quality_.queue_bytes) return t;
    t.marked = quality_.mark_bytes != 0 && backlog_bytes >= quality_.mark_bytes;
    busy_until_ =
        busy_until_ + Duration::ns(static_cast<std::int64_t>(bytes) * 8'000'000'000 / rate);
  }
  t.sent = true;
  t.at = busy_until_ + uniform(quality_.delay_min, quality_.delay_max);
  if (happens(quality_.reorder_ppm, now)) {
    t.reordered = true;
    t.at = t.at + uniform(Duration(), quality_.reorder_delay_max);
  } else {
    t.at = last_arrival_ = std::max(t.at, last_arrival_);
  }
  if (happens(quality_.duplicate_ppm, now)) {
    t.duplicated = true;
    t.duplicate_at = t.at + uniform(Duration(), quality_.reorder_delay_max);
  }
  if (happens(quality_.mark_ppm, now)) t.marked = true;
  return t;
}

Fate Link::arrive(Instant now) {
  if (cut_off(now)) return Fate::cut;
  if (happens(quality_.loss_ppm, now)) return Fate::lost;
  if (happens(quality_.corrupt_ppm, now)) return Fate::corrupted;
  return Fate::delivered;
}

std::vector<std::uint32_t> Link::flips(std::size_t bytes, std::uint32_t most) {
  std::vector<std::uint32_t> bits(1 + random_.below(most));
  for (auto& bit : bits) bit = random_.below(static_cast<std::uint32_t>(bytes * 8));
  std::sort(bits.begin(), bits.end());
  // Flipping one bit twice would leave it as it was.
  bits.erase(std::unique(bits.begin(), bits.end()), bits.end());
  return bits;
}

bool Link::cut_off(Instant now) const {
  return !plugged_in_ || std::any_of(cuts_.begin(), cuts_.end(),
                                     [now](const Cut& c) { return c.begin <= now && now < c.end; });
}
bool Link::down(Instant now) const {
  return !plugged_in_ || std::any_of(cuts_.begin(), cuts_.end(), [now](const Cut& c) {
    return !c.silently && c.begin <= now && now < c.end;
  });
}

}  // namespace tributary::sim
