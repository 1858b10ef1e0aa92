// The ways between lcores: frames for a queue or a job that another one owns, and learned
// addresses. A single-producer single-consumer ring of each kind for every pair; none where there
// is one lcore.
//
//   lcore A: give() ─▶ staged ─flush()─▶ ring A→B of jobs ───┬▶ lcore B: take(), half a burst each
//                                    └─▶ ring A→B of others ─┘
//                                          └─ full: dropped and counted, by A
//
// A frame goes over once: an lcore drops a handed frame that is not its own. No lcore waits.
// A flood of either class of traffic neither fills the other's ring nor takes more than half of
// what B takes at a time, while the other wants its half; what one leaves, the other may use.
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
#include "core/net/frame.h"
#include "core/spsc_ring.h"
#include "core/time.h"
#include "dataplane/io/lane.h"

struct rte_mbuf;

namespace tributary::dataplane {

struct Handed {
  enum class What : std::uint8_t {
    transmit,  // `port` is where it leaves; it may have other holders
    receive,   // `port` is where it came in; a job's packet
  };
  rte_mbuf* frame = nullptr;
  std::uint16_t port = 0;
  What what = What::transmit;
  TrafficClass traffic = TrafficClass::others;  // of transmit; what is received is jobs'
  std::uint64_t arrived_tsc = 0;                // of receive: when its burst came
  [[nodiscard]] TrafficClass ring() const {
    return what == What::receive ? TrafficClass::jobs : traffic;
  }
};
static_assert(config::kHandoverClasses == kTrafficClasses);

struct Learned {
  wire::MacAddress mac{};
  std::uint16_t vlan = 0;
  std::uint16_t port = 0;
  Instant at;
  std::uint32_t ipv4 = 0;  // of ARP from the address; 0: the address alone
  bool to_us = false;      // that ARP: it answers this switch
};

// From one lcore to one other.
struct HandoverPath {
  static constexpr std::size_t kAddresses = 256;
  // Written by the lcore that gives, read by any thread.
  struct Counters {
    std::array<Counter, kTrafficClasses> frames;  // that went over
    std::array<Counter, kTrafficClasses> full;    // dropped
    Counter addresses;                            // that went over
    Counter addresses_lost;                       // told again within a second or so
  };

  [[nodiscard]] SpscRing<Handed>& ring(TrafficClass traffic) {
    return rings[static_cast<std::size_t>(traffic)];
  }

  std::array<SpscRing<Handed>, kTrafficClasses> rings{SpscRing<Handed>{config::kHandoverFrames},
                                                      SpscRing<Handed>{config::kHandoverFrames}};
  SpscRing<Learned> addresses{kAddresses};
  Counters counters;
};

// All of them. Outlives the lcores' loops, and frees what they leave behind.
class Handover {
 public:
  // `sockets` of the lcores, where they are known: each way is where it ends.
  explicit Handover(std::size_t lcores, std::span<const int> sockets = {});
  ~Handover();
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  [[nodiscard]] std::size_t lcores() const { return lcores_; }
  // Jobs' frames that wait for a port's driver at the lcore that sends there, as it last said. A
  // hint between lcores: nothing else is read by it.
  [[nodiscard]] std::atomic<std::size_t>& backlog(std::uint16_t port) { return backlogs_[port]; }
  [[nodiscard]] HandoverPath& path(std::size_t from, std::size_t to) const {
    return *paths_[from * lcores_ + to];
  }

 private:
  std::size_t lcores_;
  std::vector<std::unique_ptr<HandoverPath>> paths_;
  std::array<std::atomic<std::size_t>, config::kMaxPorts> backlogs_{};
};

// One lcore's end of the handover. Its thread only.
class HandoverEnd {
 public:
  HandoverEnd(Handover& handover, std::size_t own);
  HandoverEnd(const HandoverEnd&) = delete;
  HandoverEnd& operator=(const HandoverEnd&) = delete;
  ~HandoverEnd();

  // Takes ownership. Sent with the next flush(), or before. A frame that finds the ring full is
  // counted under its port in `lanes`.
  void give(std::size_t to, const Handed& frame, Lanes& lanes);
  // To all others.
  void announce(const Learned& address);
  // Returns the frames that went over.
  std::size_t flush(Lanes& lanes);

  // Says how many of jobs' frames wait for a port of this lcore's.
  void publish_backlog(std::uint16_t port, std::size_t frames);
  // About how many wait for a port to which another lcore sends: there, and on the way to it. As
  // many are expected of each other lcore as of this one.
  [[nodiscard]] std::size_t backlog(std::size_t to, std::uint16_t port) const;

  // From one other; returns what came: of each class half of it, or what the other leaves.
  std::span<Handed> take(std::size_t from, std::span<Handed> into);
  std::span<Learned> take(std::size_t from, std::span<Learned> into);

  [[nodiscard]] std::size_t own() const { return own_; }
  [[nodiscard]] std::size_t lcores() const { return handover_.lcores(); }

 private:
  struct Staged {
    std::array<Handed, kBurst> frames;
    std::size_t count = 0;
  };
  using StagedOfClasses = std::array<Staged, kTrafficClasses>;
  std::size_t flush_to(std::size_t to, TrafficClass traffic, Lanes& lanes);

  Handover& handover_;
  std::size_t own_;
  std::vector<StagedOfClasses> staged_;
};

}  // namespace tributary::dataplane
