#include "telemetry/table/link_table.h"

namespace tributary::telemetry {

const LinkRecord* LinkTable::find(LinkKey key) const {
  const auto found = links_.find(key);
  return found == links_.end() ? nullptr : &found->second;
}

bool LinkTable::make_room(bool own, Instant now) {
  if (links_.size() < limit_) return true;
  const bool of_own = own && named_.empty();
  Order& from = order(of_own);
  if (from.empty()) return false;
  const LinkKey oldest = from.back();
  const bool takes_precedence = own && !of_own;
  if (!takes_precedence && now - links_.at(oldest).seen <= kLinkAge) return false;
  from.pop_back();
  links_.erase(oldest);
  places_.erase(oldest);
  ++evicted_;
  return true;
}

LinkRecord* LinkTable::see(LinkKey key, bool own, Instant now) {
  const auto found = places_.find(key);
  if (found == places_.end()) {
    if (!make_room(own, now)) {
      ++refused_;
      return nullptr;
    }
    Order& to = order(own);
    places_[key] = {own, to.insert(to.begin(), key)};
  } else {
    Place& place = found->second;
    Order& from = order(place.own);
    place.own = place.own || own;
    Order& to = order(place.own);
    to.splice(to.begin(), from, place.at);
  }
  LinkRecord& link = links_[key];
  link.seen = now;
  return &link;
}

}  // namespace tributary::telemetry
