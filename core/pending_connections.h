// Connections whose clients still have to send what comes first (a request, a greeting, a key),
// oldest first: each has the same time for all of it, however it comes, and where there is no room
// for a newcomer, the oldest makes way.
//
//   accept ─▶ add(id, now) ─▶ remove(id)      it came, or the connection has ended
//                  ├────────▶ late(now)       to be closed
//                  └────────▶ oldest()        to be closed for a newcomer
//
// Knows neither a clock nor sockets: ids are the caller's, such as descriptors, each at most once.
// For one thread, or under its owner's mutex.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>

#include "core/time.h"

namespace tributary {

template <typename Id>
class PendingConnections {
 public:
  // `allowed`: from add() on.
  explicit PendingConnections(Duration allowed) : allowed_(allowed) {}
  PendingConnections(const PendingConnections&) = delete;
  PendingConnections& operator=(const PendingConnections&) = delete;

  // `now` is at or after that of earlier calls.
  void add(Id id, Instant now) {
    std::list<Entry> fresh;
    fresh.push_back({id, now + allowed_});
    places_.insert_or_assign(id, fresh.begin());
    order_.splice(order_.end(), fresh);
  }
  // Returns false if it is not pending.
  bool remove(Id id) {
    const auto place = places_.find(id);
    if (place == places_.end()) return false;
    order_.erase(place->second);
    places_.erase(place);
    return true;
  }

  [[nodiscard]] std::size_t size() const { return order_.size(); }
  [[nodiscard]] std::optional<Id> oldest() const {
    if (order_.empty()) return std::nullopt;
    return order_.front().id;
  }
  // The oldest, if its time is over.
  [[nodiscard]] std::optional<Id> late(Instant now) const {
    if (order_.empty() || now < order_.front().deadline) return std::nullopt;
    return order_.front().id;
  }
  // When late() will have one; Instant::max(): never.
  [[nodiscard]] Instant deadline() const {
    return order_.empty() ? Instant::max() : order_.front().deadline;
  }

 private:
  struct Entry {
    Id id;
    Instant deadline;
  };
  const Duration allowed_;
  std::list<Entry> order_;  // by deadline
  std::map<Id, typename std::list<Entry>::iterator> places_;
};

}  // namespace tributary
