// Who a job's children are at this switch: workers, and switches with workers below them, by child
// index. Without a tree every rank is a child, and its index is its rank (requirement O3).
//
// Immutable. The data path knows children by index; people, and lists of missing ids, by rank.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "config/model/switch_config.h"
#include "config/plan/engine_tables.h"
#include "core/wire/header.h"

namespace tributary::aggregator {

class ChildMap {
 public:
  explicit ChildMap(const config::JobConfig& job);

  struct Child {
    bool is_switch = false;
    std::uint32_t id = 0;       // rank, or the switch's id
    std::uint32_t covered = 1;  // workers inside
    std::uint32_t first = 0;    // of its ranks, which follow one another in ranks_
    std::uint32_t ipv4 = 0;     // of a switch
  };

  [[nodiscard]] std::uint32_t count() const { return count_; }
  // Workers below this switch.
  [[nodiscard]] std::uint32_t covered() const { return static_cast<std::uint32_t>(ranks_.size()); }
  [[nodiscard]] bool has_switches() const { return has_switches_; }
  // The child that this rank is, or hangs below; nullopt: it is elsewhere.
  [[nodiscard]] std::optional<std::uint16_t> child_of(std::uint32_t rank) const {
    if (rank >= child_of_.size() || child_of_[rank] == kNowhere) return std::nullopt;
    return child_of_[rank];
  }
  [[nodiscard]] const Child& operator[](std::uint32_t index) const { return list_[index]; }
  // A switch passes on what a rank behind it sent (flag bypass): `origin` is that rank.
  [[nodiscard]] bool relays(const wire::Header& h) const {
    const bool may = h.type == wire::PacketType::contribution || h.type == wire::PacketType::probe;
    return may && (h.flags & wire::kFlagBypass) != 0 && h.child < count_ &&
           list_[h.child].is_switch;
  }
  // True when a packet of the running epoch names a child as this job has it.
  [[nodiscard]] bool knows(const wire::Header& h) const {
    if (h.child >= count_) return false;
    return relays(h) ? child_of(h.origin) == h.child : list_[h.child].id == h.origin;
  }
  // The child that a JOIN is from: its index, or why there is none.
  [[nodiscard]] std::optional<std::uint16_t> joining(const wire::Header& h) const;
  // The child that a LEAVE is from. One that was never started does not know its index.
  [[nodiscard]] std::optional<std::uint16_t> leaving(const wire::Header& h) const {
    if (knows(h)) return h.child;
    return joining(h);
  }
  // Workers in all, as their JOINs claim it.
  [[nodiscard]] std::uint32_t workers() const { return workers_; }

  [[nodiscard]] std::span<const std::uint32_t> ranks_of(std::uint32_t index) const {
    return std::span(ranks_).subspan(list_[index].first, list_[index].covered);
  }
  // Adds the ranks inside to a set: rank r is bit r mod 64 of word r / 64.
  void add_ranks(std::uint32_t index, std::span<std::uint64_t> set) const {
    for (const std::uint32_t rank : ranks_of(index)) set[rank / 64] |= 1ULL << (rank % 64);
  }
  // For messages: the lowest rank inside, and the switch's id where the child is one (0: it is
  // none).
  [[nodiscard]] std::uint32_t lowest_rank(std::uint32_t index) const {
    return ranks_[list_[index].first];
  }
  [[nodiscard]] std::uint32_t switch_id(std::uint32_t index) const {
    return list_[index].is_switch ? list_[index].id : 0;
  }
  [[nodiscard]] std::size_t table_bytes() const {
    return child_of_.capacity() * sizeof(std::uint16_t) + list_.capacity() * sizeof(Child) +
           ranks_.capacity() * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::uint16_t kNowhere = 0xFFFF;

  std::uint32_t workers_;
  std::uint32_t count_ = 0;
  bool has_switches_ = false;
  std::vector<std::uint16_t> child_of_;  // by rank
  std::vector<Child> list_;
  std::vector<std::uint32_t> ranks_;  // of all children, child by child
};
static_assert(sizeof(ChildMap::Child) == config::kPlaceBytes);

// A list of ranks being made from children; never more than fit a packet.
class RankList {
 public:
  RankList(const ChildMap& children, std::span<std::uint32_t> room)
      : children_(children), room_(room) {}
  void add(std::uint32_t child) {
    for (const std::uint32_t rank : children_.ranks_of(child)) {
      if (used_ == room_.size()) return;
      room_[used_++] = rank;
    }
  }
  [[nodiscard]] bool full() const { return used_ == room_.size(); }
  [[nodiscard]] std::span<const std::uint32_t> ranks() const { return room_.first(used_); }

 private:
  const ChildMap& children_;
  std::span<std::uint32_t> room_;
  std::size_t used_ = 0;
};

}  // namespace tributary::aggregator
