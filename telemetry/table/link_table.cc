#include "telemetry/table/link_table.h"

#include <algorithm>
#include <iterator>

namespace tributary::telemetry {

const LinkRecord* LinkTable::find(LinkKey key) const {
  const auto found = links_.find(key);
  return found == links_.end() ? nullptr : &found->second;
}

std::uint32_t LinkTable::largest() const {
  return std::max_element(
             told_.begin(), told_.end(),
             [](const auto& a, const auto& b) { return a.second.all() < b.second.all(); })
      ->first;
}

bool LinkTable::is_aged(const Order& order, Instant now) const {
  return !order.empty() && now - links_.at(order.back().key).seen > kLinkAge;
}

void LinkTable::evict(bool own, Order::iterator entry) {
  --count(entry->teller, own);
  links_.erase(entry->key);
  places_.erase(entry->key);
  order(own).erase(entry);
  ++evicted_;
}

void LinkTable::evict_oldest(bool own, std::uint32_t teller) {
  Order& from = order(own);
  const auto oldest = std::find_if(from.rbegin(), from.rend(),
                                   [teller](const Entry& one) { return one.teller == teller; });
  evict(own, std::prev(oldest.base()));
}

bool LinkTable::make_room(std::uint32_t teller, bool own, Instant now) {
  if (links_.size() < limit_) return true;
  const Told mine = told_[teller];
  if (mine.all() < limit_ / told_.size()) {
    const std::uint32_t most = largest();
    evict_oldest(told_[most].named == 0, most);
    return true;
  }
  if (own && mine.named != 0) {
    evict_oldest(false, teller);
    return true;
  }
  for (const bool kind : {false, true}) {
    if ((kind && !own) || !is_aged(order(kind), now)) continue;
    evict(kind, std::prev(order(kind).end()));
    return true;
  }
  return false;
}

// Its own node reports a port that was in stacks alone.
void LinkTable::adopt(Place& place) {
  --count(place.at->teller, false);
  place.at->teller = place.at->key.node;
  ++count(place.at->teller, true);
  own_.splice(own_.begin(), named_, place.at);
  place.own = true;
}

LinkRecord* LinkTable::see(LinkKey key, std::uint32_t teller, bool own, Instant now) {
  const auto found = places_.find(key);
  if (found == places_.end()) {
    if (!make_room(teller, own, now)) {
      ++refused_;
      return nullptr;
    }
    Order& to = order(own);
    places_[key] = {own, to.insert(to.begin(), {key, teller})};
    ++count(teller, own);
    links_[key].born = now;
  } else if (own && !found->second.own) {
    adopt(found->second);
  } else {
    Order& in = order(found->second.own);
    in.splice(in.begin(), in, found->second.at);
  }
  LinkRecord& link = links_[key];
  link.seen = now;
  return &link;
}

}  // namespace tributary::telemetry
