// Ports of a simulated switch: what became of each frame, and which frames they can send.
//
// Each frame is in one column of its ingress port and each copy in one of its egress port, so that
// received = consumed + forwarded + answered + dropped, and to_send = sent + send_dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "config/model/switch_config.h"
#include "core/drop_reason.h"
#include "sim/node/world.h"

namespace tributary::sim {

// Per port, for the whole run.
struct PortTally {
  std::uint64_t received = 0;
  std::uint64_t consumed = 0;   // by the engine
  std::uint64_t forwarded = 0;  // at least one copy was to go out
  std::uint64_t answered = 0;
  std::uint64_t dropped = 0;  // on receipt
  std::uint64_t to_send = 0;  // copies and messages meant for this port
  std::uint64_t sent = 0;
  std::uint64_t send_dropped = 0;
};

class SwitchPorts {
 public:
  explicit SwitchPorts(const std::vector<config::PortConfig>& ports);

  [[nodiscard]] PortTally& operator[](std::uint16_t port) { return tallies_[port]; }
  [[nodiscard]] const std::vector<PortTally>& tallies() const { return tallies_; }
  [[nodiscard]] const DropCounters& drops() const { return drops_; }

  // A frame is dropped on receipt.
  void drop(std::uint16_t port, DropReason reason);
  // An answer is not sent at all.
  void drop_answer(DropReason reason) { drops_.add(reason); }
  // A copy is meant for this port. Returns false, and has counted it, if it is too long.
  bool fits(std::uint16_t port, const FrameRef& frame);
  // A copy that fits went to the cable.
  void count_sent(std::uint16_t port, SendResult result);

 private:
  void drop_copy(std::uint16_t port, DropReason reason);

  std::vector<std::size_t> largest_frame_;  // by port
  std::vector<PortTally> tallies_;
  DropCounters drops_;
};

}  // namespace tributary::sim
