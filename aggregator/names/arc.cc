#include "aggregator/names/arc.h"

#include <algorithm>

namespace tributary::aggregator {

Arc::Arc(std::uint32_t entries, std::uint32_t capacity) : capacity_(capacity), links_(entries) {}

void Arc::move(std::uint32_t entry, List to) {
  const List from = links_[entry].in;
  if (from != none) {
    lists_[from].remove(links_, entry);
    --count_[from];
  }
  links_[entry].in = to;
  if (to == none) return;
  lists_[to].append(links_, entry);
  ++count_[to];
}

void Arc::hit(std::uint32_t entry) {
  move(entry, frequent);
}

void Arc::erase(std::uint32_t entry) {
  move(entry, none);
}

// REPLACE of the paper; nothing is evicted while there is room.
std::uint32_t Arc::make_room(bool for_frequent) {
  if (held() < capacity_) return kNone;
  const bool beyond = count_[recent] > target_ || (for_frequent && count_[recent] == target_);
  const List from = (count_[recent] != 0 && beyond) || count_[frequent] == 0 ? recent : frequent;
  const std::uint32_t evicted = lists_[from].oldest();
  move(evicted, from == recent ? was_recent : was_frequent);
  return evicted;
}

std::uint32_t Arc::forget_oldest(List list) {
  const std::uint32_t entry = lists_[list].oldest();
  move(entry, none);
  return entry;
}

Arc::Outcome Arc::insert(std::uint32_t entry) {
  const List from = links_[entry].in;
  if (from == none) return insert_new(entry);
  const std::uint32_t weight =
      std::max(1u, from == was_recent ? count_[was_frequent] / count_[was_recent]
                                      : count_[was_recent] / count_[was_frequent]);
  target_ = from == was_recent ? std::min(capacity_, target_ + weight)
                               : target_ - std::min(target_, weight);
  const Outcome outcome{.evicted = make_room(from == was_frequent)};
  move(entry, frequent);
  return outcome;
}

Arc::Outcome Arc::insert_new(std::uint32_t entry) {
  Outcome outcome;
  const std::uint32_t seen_once = count_[recent] + count_[was_recent];
  const std::uint32_t all = seen_once + count_[frequent] + count_[was_frequent];
  if (seen_once == capacity_ && count_[was_recent] == 0) {
    outcome.forgotten = outcome.evicted = forget_oldest(recent);
  } else {
    if (seen_once == capacity_)
      outcome.forgotten = forget_oldest(was_recent);
    else if (all == 2 * capacity_)
      outcome.forgotten = forget_oldest(was_frequent);
    outcome.evicted = make_room(false);
  }
  move(entry, recent);
  return outcome;
}

}  // namespace tributary::aggregator
