// Copies of frames for `tributary capture` and `tributary trace`: what one lcore sees, offered to a
// control thread.
//
//   loop:    receive, send, drop ─▶ CaptureTap::offer() ─▶ wanted? filter? ─▶ ring
//            decide ──────────────▶ CaptureTap::tell() ───▶                    │
//   control:                      pcapng file, trace ◀─ CaptureTap::take() ◀───┘
//
// A tap has one producer, the loop it is installed on, and one consumer. A full ring loses frames
// and counts them; it never holds the loop. Without a tap the loop pays for a pointer that is null.
#pragma once

#include <pcap/pcap.h>

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "aggregator/chunk/chunk_look.h"
#include "config/model/switch_config.h"
#include "core/counter.h"
#include "core/drop_reason.h"
#include "core/spsc_ring.h"
#include "core/time.h"
#include "dataplane/frame/classify.h"

struct rte_mbuf;

namespace tributary::dataplane {

// Where a frame was seen. tx: given to a port's queue, which may drop it later. verdict: received
// and decided about; the frames sent or dropped in consequence come next.
enum class CapturePoint : std::uint8_t { rx, tx, drop, verdict };

// The switch's decision about a received frame. The point `drop` tells why it drops one.
struct FrameVerdict {
  Action action = Action::drop;
  // Only with Action::forward: the VLAN (0: untagged), and the port of the known destination; none:
  // all ports of the VLAN that want the frame.
  struct Way {
    std::uint16_t vlan = 0;
    std::optional<std::uint16_t> egress = {};
  };
  std::optional<Way> way = {};
  std::optional<std::size_t> handed_to = {};            // the lcore that decides about it
  std::optional<aggregator::Verdict> aggregation = {};  // none: the engine was not asked
  aggregator::ChunkLook chunk = {};                     // afterwards
  bool freed_slot = false;                              // chunk.slot is free again
};

// A filter in libpcap's language, `man pcap-filter`, without names: no name is looked up, so making
// a filter never waits (dataplane/frame/filter_words.h).
class CaptureFilter {
 public:
  // libpcap takes tens of milliseconds for that much, but tens of seconds for four times as much,
  // and the packet loop has to run what comes out.
  static constexpr std::size_t kMostBytes = 1000;

  CaptureFilter() = default;  // takes everything
  // Throws std::invalid_argument that quotes the expression and says what is wrong with it.
  explicit CaptureFilter(const std::string& expression);

  // `length` is the frame's, of which `bytes` is the beginning.
  [[nodiscard]] bool takes(std::span<const std::byte> bytes, std::uint32_t length) const;

 private:
  struct Free {
    void operator()(bpf_program* program) const;
  };
  std::unique_ptr<bpf_program, Free> program_;
};

struct CaptureWish {
  static constexpr std::uint32_t kMostSnap = 16'384;

  bool rx = true;
  bool tx = true;
  bool drop = true;
  bool verdict = false;
  std::vector<bool> ports;  // by port index: wanted
  CaptureFilter filter;
  std::uint32_t snap = kMostSnap;  // bytes kept of each frame
};

struct CapturedFrame {
  Instant when = {};
  std::uint32_t length = 0;  // of the frame
  std::uint32_t kept = 0;    // of its beginning
  std::uint32_t slot = 0;    // the tap's
  std::uint64_t missed = 0;  // that found no room before it
  std::uint16_t port = 0;
  CapturePoint point = CapturePoint::rx;
  DropReason reason = DropReason::none;  // of drop
  FrameVerdict verdict = {};             // of verdict
};

class CaptureTap {
 public:
  // Frames that wait for the consumer take at most `room` bytes.
  explicit CaptureTap(std::shared_ptr<const CaptureWish> wish, std::size_t room = 8u << 20);

  // Loop only. Once per turn, before the first offer.
  void begin_turn(Instant now) { now_ = now; }
  void offer(CapturePoint point, std::uint16_t port, const rte_mbuf* frame,
             DropReason reason = DropReason::none);
  void offer(CapturePoint point, std::uint16_t port, std::span<const std::byte> frame,
             DropReason reason = DropReason::none);
  // Another port is at this place now, which the request did not name.
  void ignore(std::uint16_t port) { ignored_[port] = true; }
  // To be called before the verdict is carried out.
  void tell(std::uint16_t port, const rte_mbuf* frame, const FrameVerdict& verdict);
  void tell(std::uint16_t port, std::span<const std::byte> frame, const FrameVerdict& verdict);
  [[nodiscard]] bool wants_verdicts() const { return wish_->verdict; }

  // Consumer only. The oldest frame that waits; `bytes` holds at least the wish's snap. False:
  // none.
  bool take(CapturedFrame& frame, std::span<std::byte> bytes);

  // Any thread: frames that found no room.
  [[nodiscard]] std::uint64_t missed() const { return missed_.get(); }

 private:
  [[nodiscard]] bool wants(CapturePoint point, std::uint16_t port) const;
  // The room of a slot.
  [[nodiscard]] std::span<std::byte> room_of(std::uint32_t slot);
  // Copies the frame if the request wants it.
  void keep(CapturedFrame& seen, const rte_mbuf* frame);
  void keep(CapturedFrame& seen, std::span<const std::byte> frame);
  // The room of a free slot, which `frame` then names; empty and counted when there is none.
  std::span<std::byte> begin(CapturedFrame& frame);

  const std::shared_ptr<const CaptureWish> wish_;
  Instant now_;
  std::bitset<config::kMaxPorts> ignored_;  // by places
  std::vector<std::byte> bytes_;            // wish.snap for each slot
  SpscRing<std::uint32_t> free_;            // slots, from the consumer to the loop
  SpscRing<CapturedFrame> seen_;            // from the loop to the consumer
  Counter missed_;
};

}  // namespace tributary::dataplane
