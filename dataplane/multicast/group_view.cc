#include "dataplane/multicast/group_view.h"

namespace tributary::dataplane {

GroupView::GroupView(std::uint32_t groups, std::uint64_t seed)
    : entries_(groups, seed), entry_of_(groups, kNoEntry), vlans_(kVlanIds) {}

void GroupView::apply(const GroupUpdate& update) {
  if (update.place < entry_of_.size()) return apply_group(update);
  vlans_[update.place - entry_of_.size()] = {update.ports, update.queriers};
}

// A group that has gone and come again may be told of at its new place first; then it is no longer
// the old one's. So there are never more groups here than places.
void GroupView::apply_group(const GroupUpdate& update) {
  std::uint32_t& at = entry_of_[update.place];
  const bool has_one = at != kNoEntry && entries_[at].place == update.place;
  if (has_one && (update.ports == 0 || entries_[at].key != update.key)) {
    entries_[at].place = kNoEntry;
    entries_.remove(at);
  }
  if (update.ports == 0) return;
  at = entries_.find(update.key);
  if (at == kNoEntry) at = entries_.add(update.key);
  entries_[at].ports = update.ports;
  entries_[at].place = update.place;
}

}  // namespace tributary::dataplane
