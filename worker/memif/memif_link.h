// One memif connection of this process, which all its communicators at that interface share.
//
//   communicator A ─┐                  ┌─ frames to A's addresses: in place, where A's thread reads
//   communicator B ─┼─ one connection ─┤
//   communicator C ─┘                  └─ others': copied to their inboxes, and they are woken
//
// Each communicator has a thread of its own. Whichever is awake reads for all. Of those that sleep,
// one watches the connection: the one that got frames last. A communicator whose thread doesn't
// read loses frames of its own when its inbox is full; the protocol sends these again.
//
// Locks, in this order: connecting_, rx_ (who reads), tx_ (who writes), watch_ (who watches),
// sharing_ (memory with results).
//
// Files: memif_link.cc (members, frames), memif_link_wait.cc (sleeping), memif_links.cc (which
// connections there are).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/net/frame.h"
#include "core/time.h"
#include "worker/memif/memif_inbox.h"
#include "worker/memif/shared_results.h"
#include "worker/transport/file_descriptor.h"
#include "worker/transport/memif_control.h"
#include "worker/transport/memif_rings.h"

namespace tributary::worker {

// A communicator at a connection.
struct MemifMember {
  // Throws std::system_error.
  explicit MemifMember(const wire::MacAddress& own_mac);

  // Its own thread's, before on_start() and after.
  void hear_group(const wire::MacAddress& group_mac);
  // Any thread: makes its current or next wait() return at once.
  void wake();
  [[nodiscard]] bool hears(const wire::EthernetView& frame) const;

  const wire::MacAddress mac;
  const FileDescriptor wake_event, epoll;    // `epoll`: of wake_event, and of what it watches
  std::atomic<std::uint64_t> group_mac = 0;  // 0: none yet
  std::atomic<std::size_t> depth = 0;        // frames in flight each way that it wants; 0: default
  std::atomic<bool> woken = false;           // wake() sets, wait() clears; the eventfd follows
  std::atomic<bool> asleep = false;          // its thread sets; pairs with MemifInbox::waiting_
  MemifInbox inbox;
  std::atomic<std::uint64_t> frames = 0;  // read for it by any thread; written under rx_
  bool rings = false;                     // under rx_: to be woken at the end of the burst
  // Its own thread's: frames as of its last wait(), the watcher's too, and the watcher's turns.
  std::uint64_t seen_frames = 0, seen_watchers_frames = 0, seen_watchers_turns = 0;
};

class MemifLink {
 public:
  // The connection to interface `id` of a socket, or to any (memif::kAnyId); a new one where this
  // process has none. It ends with the last pointer to it.
  static std::shared_ptr<MemifLink> at(const std::string& socket, std::uint32_t id);

  MemifLink(std::string socket, std::uint32_t id) : socket_(std::move(socket)), id_(id) {}
  ~MemifLink();
  MemifLink(const MemifLink&) = delete;
  MemifLink& operator=(const MemifLink&) = delete;

  // Any thread. Connects if it is down. Throws MemifConnectError.
  void connect(Duration answer_limit);
  [[nodiscard]] bool up() const { return up_.load(std::memory_order_acquire); }
  // Counts connections: after another one, members say where they are.
  [[nodiscard]] std::uint32_t generation() const {
    return generation_.load(std::memory_order_acquire);
  }

  // Once connected: what the switch has told, and the interface.
  [[nodiscard]] memif::Told told();
  [[nodiscard]] std::uint32_t told_id() { return id_ == memif::kAnyId ? told().id : id_; }

  // Any thread. Memory with results, which the switch has offered; nullptr: not, or no longer.
  [[nodiscard]] std::shared_ptr<const SharedResults> results(std::uint32_t region);

  void add(MemifMember& member);
  void remove(MemifMember& member);

  // While one lives, its thread alone writes. `rings`: nullptr while the connection is down.
  struct Writing {
    std::unique_lock<std::mutex> turn;
    MemifRings* rings;
  };
  [[nodiscard]] Writing write() { return {std::unique_lock(tx_), rings_.get()}; }

  // On the member's thread, as wait(). Calls `take` with frames for `self`, about `most`, and
  // `unusable` for a frame that is none. Not from within either.
  template <typename Take, typename Unusable>
  void receive(MemifMember& self, std::size_t most, Take&& take, Unusable&& unusable) {
    if (!self.inbox.empty()) self.inbox.take(most, take);
    const std::unique_lock reading(rx_, std::try_to_lock);  // another reads, and wakes this one
    if (!reading || rings_ == nullptr) return;
    if (!self.inbox.empty()) self.inbox.take(most, take);  // older than what is read now
    for (std::size_t i = 0; i < most; ++i) {
      std::span<const std::byte> frame;
      const MemifRings::Rx got = rings_->rx_next(frame);
      if (got == MemifRings::Rx::none) break;
      if (got == MemifRings::Rx::unusable)
        unusable();
      else if (members_.size() == 1 || hand_out(frame, self))
        take(frame);
    }
    end_burst(self);
  }

  // Blocks until a frame for `self` is there, it is woken, or `limit` is over; with `blocked`, also
  // until there is room to send.
  void wait(MemifMember& self, Duration limit, bool blocked);

  // `depth` of a member has changed: from within receive(), which follows at its end, or elsewhere.
  void deepen_later() { wants_depth_ = true; }
  void deepen();

 private:
  static constexpr Duration kReconnectInterval = Duration::ms(100);

  static std::int64_t now_ns();
  void open(Duration answer_limit);  // under connecting_
  // Under rx_. Returns true if the frame is for `reader`, too.
  bool hand_out(std::span<const std::byte> frame, MemifMember& reader);
  void end_burst(MemifMember& reader);
  void set_depth();
  void disconnect();
  void take_offers();
  void forget_results();
  void wake_all();

  // memif_link_wait.cc
  bool watch(MemifMember& self);
  void begin_watch(MemifMember& self);
  void end_watch();
  [[nodiscard]] bool may_take_over(const MemifMember& self) const;
  [[nodiscard]] bool is_watched_by(const MemifMember& self);
  [[nodiscard]] bool ready(const MemifMember& self, bool blocked);
  void sleep_until_ready(MemifMember& self, Duration limit, bool blocked);
  void turn_interrupts(const MemifMember& self, bool on);
  // Returns true if an event came before the limit.
  bool poll(MemifMember& self, Duration limit);
  void look_at(const MemifMember& self, int descriptor);
  void wait_for_link(MemifMember& self, Duration limit);

  const std::string socket_;
  const std::uint32_t id_;
  std::mutex connecting_;  // of:
  std::optional<std::uint32_t> had_id_;
  std::atomic<std::int64_t> next_connect_ns_ = 0;
  std::atomic<bool> up_ = false;
  std::atomic<std::uint32_t> generation_ = 0;
  std::atomic<bool> wants_depth_ = false;

  std::mutex rx_;  // of:
  std::vector<MemifMember*> members_;
  std::mutex tx_;
  std::mutex watch_;  // of:
  MemifMember* watcher_ = nullptr;
  bool watcher_asleep_ = false;
  std::uint64_t watcher_turns_ = 0;  // changes whenever the watcher goes to sleep or wakes up
  memif::Told told_{};               // of the last connection; written as the next two
  // Both null while down. Written under rx_, tx_ and watch_, so that one is enough to read.
  std::unique_ptr<MemifRings> rings_;
  std::unique_ptr<MemifControl> control_;
  std::mutex sharing_;  // the last lock; of:
  std::vector<std::shared_ptr<const SharedResults>> results_;
};

}  // namespace tributary::worker
