// Ports that want each multicast group, per VLAN.
//
//   report ──▶ port of its group ──silence of `membership`──▶ gone
//                  └── leave: gone after `leave_delay`, unless a report comes from that port
//
// Memberships of a port that is gone stop counting at once, and are cleared away a few places a
// turn: to look at all of a large table takes milliseconds. Each membership has its port's epoch,
// the number of times, modulo 256, that the port has gone; a new port at its place has a new epoch.
//
// A group is the address to which its frames go (several IP groups may share one). Bounded, all
// memory taken at construction; a report that finds no room is counted and otherwise ignored.
//
// A group is charged to one of the ports that want it, the one that came first. When the table is
// full, a port that is charged with fewer groups than another gets the place of that one's oldest:
// a port that joins random groups evicts its own. A group that another port wants, too, is charged
// to that port then, and stays. A port that is itself charged with most is refused, so that a port
// with more groups than there is room for keeps those that it has.
//
// One thread owns it: the lcore that forwards; of several, the first (group_keeper.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/counter.h"
#include "core/index_list.h"
#include "core/net/frame.h"
#include "core/time.h"
#include "dataplane/frame/mac_index.h"
#include "dataplane/frame/vlan.h"
#include "dataplane/multicast/group_news.h"

namespace tributary::dataplane {

struct GroupRow {
  wire::MacAddress group{};
  std::uint16_t vlan = 0;
  PortMask ports = 0;
  Duration left;  // until the last of them is forgotten
};

class GroupTable {
 public:
  // Capacity is a power of two. `seed` makes the hash unpredictable to senders.
  GroupTable(std::uint32_t capacity, std::uint64_t seed);
  // Places that change are noted there from now on.
  void tell(GroupNews* news) { news_ = news; }

  void join(const wire::MacAddress& group, std::uint16_t vlan, std::uint16_t port, Instant until);
  // Membership of that port ends then, if not before.
  void leave(const wire::MacAddress& group, std::uint16_t vlan, std::uint16_t port, Instant when);
  // Ends all memberships of the port. Until expire() has passed all places, groups that no other
  // port wants are still counted, and keep their room unless a new group needs it.
  void forget(std::uint16_t port);
  // True while expire() has places left to clear after forget().
  [[nodiscard]] bool forgetting() const { return unclean_ != 0; }
  // nullopt: no port has joined the group.
  [[nodiscard]] std::optional<PortMask> lookup(const wire::MacAddress& group, std::uint16_t vlan,
                                               Instant now) const;
  // Looks at so many entries, the next ones at the next call; returns the groups that went.
  std::size_t expire(Instant now, std::size_t look_at);

  // A piece at a time: appends a row to `into` for each wanted group among the next `looks` places,
  // and advances `place`, to capacity() at last. A group that goes and comes again between two
  // pieces may be missing, or there twice.
  void rows(std::uint32_t& place, std::uint32_t looks, Instant now,
            std::vector<GroupRow>& into) const;
  [[nodiscard]] std::uint32_t capacity() const {
    return static_cast<std::uint32_t>(entries_.entries().size());
  }
  // The group at a place; no ports: none. May still have ports whose time has come.
  struct Place {
    std::uint64_t key = 0;
    PortMask ports = 0;
  };
  [[nodiscard]] Place at(std::uint32_t place) const {
    return {entries_[place].key, of_now(entries_[place])};
  }

  // Read by any thread.
  struct Counters {
    Counter groups;   // gauge
    Counter joined;   // ports that a group got
    Counter left;     // that said so
    Counter aged;     // groups that no port wants any longer
    Counter refused;  // reports that found no room
    Counter evicted;  // groups that gave way to those of a port with fewer
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  static constexpr std::uint32_t kNone = kNoEntry;
  static constexpr std::size_t kPorts = 8 * sizeof(PortMask);
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t hash_next = kNone;
    PortMask ports = 0;  // 0: free
    std::array<Instant, kPorts> until{};
    std::array<std::uint8_t, kPorts> epoch{};
    std::uint16_t charged = 0;  // the port; the group is in its list
    std::uint32_t older = kNone;
    std::uint32_t newer = kNone;
  };
  // The groups that a port is charged with, by when it has asked for them last.
  struct Charges {
    IndexList<Entry, &Entry::older, &Entry::newer> groups;
    std::uint32_t count = 0;
  };
  // Groups looked at to find one that may give way.
  static constexpr int kEvictionLooks = 8;

  void remove(std::uint32_t index);
  void charge(std::uint32_t index, std::uint16_t port);
  void discharge(std::uint32_t index);
  // To the one of its ports that wants it longest.
  void charge_another(std::uint32_t index);
  bool make_room_for(std::uint16_t port);
  // A place of a group that only ports want which are gone.
  bool clear_one();
  // These of its ports and no others; none: the group goes. Returns whether it has.
  bool keep_only(std::uint32_t index, PortMask ports);
  void note(std::uint32_t index) {
    if (news_ != nullptr) news_->note(index);
  }
  // The entry's ports that have not gone since.
  [[nodiscard]] PortMask of_now(const Entry& entry) const;
  [[nodiscard]] bool has(const Entry& entry, std::uint16_t port) const {
    return (entry.ports & mask_of(port)) != 0 && entry.epoch[port] == epochs_[port];
  }
  // Those of them that still want the group.
  [[nodiscard]] PortMask wanted(const Entry& entry, Instant now) const;

  MacIndex<Entry> entries_;
  std::array<Charges, kPorts> charges_{};
  std::array<std::uint8_t, kPorts> epochs_{};
  std::uint32_t cursor_ = 0;
  std::uint32_t unclean_ = 0;  // places from there on that may have ports which are gone
  GroupNews* news_ = nullptr;
  Counters counters_;
};

}  // namespace tributary::dataplane
