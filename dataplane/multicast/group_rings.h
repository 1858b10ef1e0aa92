// Rings for multicast groups between lcores. The first lcore keeps the groups: another lcore that
// receives an IGMP or MLD message gives it the frame, and gets back what forwarding has to know.
//
//   lcore N: message ─▶ ring ─▶ lcore 0: snooping ─▶ tables ─▶ news ─▶ ring ─▶ lcore N: its view
//              └─ no room: dropped and counted under its port
//
// Rings are single-producer single-consumer; no lcore waits. A port may have as many messages in
// flight as there is room left: a port that floods leaves half to the next one, and so on. Updates
// are sent while every lcore has room for them, and otherwise wait in GroupNews (group_news.h).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "config/plan/memory_plan.h"
#include "core/counter.h"
#include "core/spsc_ring.h"
#include "dataplane/multicast/group_news.h"

struct rte_mbuf;

namespace tributary::dataplane {

// A message as it was received, in a VLAN.
struct GroupFrame {
  rte_mbuf* frame = nullptr;
  std::uint16_t port = 0;
  std::uint16_t vlan = 0;
};

// Between the first lcore and one other.
class GroupRing {
 public:
  static constexpr std::size_t kMessages = config::kGroupMessages;
  static constexpr std::size_t kUpdates = 256;

  GroupRing() = default;
  ~GroupRing();
  GroupRing(const GroupRing&) = delete;
  GroupRing& operator=(const GroupRing&) = delete;

  // The other lcore. True: the frame is on its way; false: it is still the caller's, and counted.
  bool give(const GroupFrame& message);
  std::span<GroupUpdate> take(std::span<GroupUpdate> into);

  // The first lcore.
  std::span<GroupFrame> take(std::span<GroupFrame> into);
  // An update must find room, as it is not repeated. An update seen as taken has left the ring.
  [[nodiscard]] bool has_room() const {
    return counters_.updates.get() - updates_taken_.load(std::memory_order_acquire) < kUpdates;
  }
  void tell(const GroupUpdate& update);  // there is room

  // Read by any thread.
  struct Counters {
    Counter messages;       // that went over
    Counter messages_full;  // that found no room
    Counter updates;        // that went over
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  SpscRing<GroupFrame> messages_{kMessages};
  SpscRing<GroupUpdate> updates_{kUpdates};
  // Written by the consumer after it took; the producer may see it late and assume less room.
  Counter messages_taken_;
  std::atomic<std::uint64_t> updates_taken_{0};
  // The other lcore's: ports of the messages on the way, and how many each has.
  std::array<std::uint16_t, kMessages> port_of_{};
  std::array<std::uint16_t, config::kMaxPorts> on_the_way_{};
  std::uint64_t seen_taken_ = 0;
  Counters counters_;
};

// All of them, of a switch with several lcores. Outlives the loops.
class GroupRings {
 public:
  // `sockets` of the lcores, where they are known.
  explicit GroupRings(std::size_t lcores, std::span<const int> sockets = {});

  // For any lcore but the first.
  [[nodiscard]] GroupRing& of(std::size_t lcore) const { return *ways_[lcore - 1]; }
  [[nodiscard]] std::span<const std::unique_ptr<GroupRing>> all() const { return ways_; }

 private:
  std::vector<std::unique_ptr<GroupRing>> ways_;
};

// One lcore's end of the rings; nullptr: there is only one lcore.
struct GroupEnd {
  GroupRings* ways = nullptr;
  std::size_t lcore = 0;

  [[nodiscard]] bool keeps() const { return ways == nullptr || lcore == 0; }
};

}  // namespace tributary::dataplane
