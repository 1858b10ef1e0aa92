// A job's children at this switch: workers, and switches with workers below them, by child index.
// Without a tree every rank is a child, and its index is its rank (requirement O3).
//
// The data path uses child indices; operators and lists of missing ids use ranks. Immutable, but
// for a job that is resized: its children are then the first count() ranks.
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

  // Resizes a job without a tree, between two epochs: at most as many as it was made for.
  void resize(std::uint32_t workers) { workers_ = count_ = workers; }

  struct Child {
    bool is_switch = false;
    std::uint32_t id = 0;       // rank, or the switch's id
    std::uint32_t covered = 1;  // workers inside
    std::uint32_t first = 0;    // index of its first rank in ranks_; the others follow
    std::uint32_t ipv4 = 0;     // address of a switch
  };

  [[nodiscard]] std::uint32_t count() const { return count_; }
  // Workers below this switch.
  [[nodiscard]] std::uint32_t covered() const { return static_cast<std::uint32_t>(ranks_.size()); }
  [[nodiscard]] bool has_switches() const { return has_switches_; }
  // The child that is this rank, or has it below; nullopt if the rank is elsewhere in the tree.
  [[nodiscard]] std::optional<std::uint16_t> child_of(std::uint32_t rank) const {
    if (rank >= workers_ || child_of_[rank] == kNowhere) return std::nullopt;
    return child_of_[rank];
  }
  [[nodiscard]] const Child& operator[](std::uint32_t index) const { return list_[index]; }
  // True if a switch passes on a packet of a rank behind it (flag bypass): `origin` is that rank.
  [[nodiscard]] bool relays(const wire::Header& h) const {
    const bool may = h.type == wire::PacketType::contribution || h.type == wire::PacketType::probe;
    return may && (h.flags & wire::kFlagBypass) != 0 && h.child < count_ &&
           list_[h.child].is_switch;
  }
  // True if a packet of the running epoch names a child with the id that this job has for it.
  [[nodiscard]] bool knows(const wire::Header& h) const {
    if (h.child >= count_) return false;
    return relays(h) ? child_of(h.origin) == h.child : list_[h.child].id == h.origin;
  }
  // The index of the child that sent a JOIN; nullopt if the job has no such child. May be count()
  // or more where the job can grow.
  [[nodiscard]] std::optional<std::uint16_t> joining(const wire::Header& h) const;
  // The child that sent a LEAVE. A child that never got START does not know its index.
  [[nodiscard]] std::optional<std::uint16_t> leaving(const wire::Header& h) const {
    if (knows(h)) return h.child;
    return joining(h);
  }
  // The number of all workers, as their JOINs state it.
  [[nodiscard]] std::uint32_t workers() const { return workers_; }

  [[nodiscard]] std::span<const std::uint32_t> ranks_of(std::uint32_t index) const {
    return std::span(ranks_).subspan(list_[index].first, list_[index].covered);
  }
  // Adds the ranks inside to a set: rank r is bit r mod 64 of word r / 64.
  void add_ranks(std::uint32_t index, std::span<std::uint64_t> set) const {
    for (const std::uint32_t rank : ranks_of(index)) set[rank / 64] |= 1ULL << (rank % 64);
  }
  // For messages: the lowest rank inside, and the switch's id if the child is a switch (0: it is a
  // worker).
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

// A list of ranks collected from children; stops at the most ids that a packet can hold.
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
