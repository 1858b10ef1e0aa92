// One direction of the cable: receive a burst, decide, hold what must wait, send what is due.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/time.h"
#include "tools/impair/delay_line.h"
#include "tools/impair/first_loss.h"
#include "tools/impair/impairment.h"
#include "tools/impair/port.h"

namespace tributary::impair {

class Direction {
 public:
  // Frames one direction may hold; beyond that it stops receiving, as a real queue fills up.
  static constexpr std::size_t kHeldFrames = 2048;
  static constexpr std::uint16_t kBurst = 32;

  Direction(Port from, Port to, const ImpairmentConfig& config, std::uint64_t seed,
            std::span<const FirstLossConfig> first_losses)
      : from_(from),
        to_(to),
        impairment_(config, seed),
        first_losses_(first_losses.begin(), first_losses.end()),
        held_(kHeldFrames) {}
  ~Direction();
  Direction(const Direction&) = delete;
  Direction& operator=(const Direction&) = delete;

  // Returns how many frames it received or sent.
  std::size_t do_work(Instant now);

  void set_delay(Duration delay) { impairment_.set_delay(delay); }

  [[nodiscard]] Instant next_release() const { return held_.next_release(); }
  [[nodiscard]] const ImpairmentCounts& counts() const { return impairment_.counts(); }
  [[nodiscard]] std::uint64_t lost_first() const { return lost_first_; }
  [[nodiscard]] std::uint64_t transmit_failures() const { return transmit_failures_; }

 private:
  std::size_t receive(Instant now);
  void accept(rte_mbuf* frame, Instant now);
  bool loses_first(const rte_mbuf* frame);
  std::size_t send_due(Instant now);

  Port from_;
  Port to_;
  Impairment impairment_;
  std::vector<FirstLoss> first_losses_;
  std::uint64_t lost_first_ = 0;
  DelayLine<rte_mbuf*> held_;
  std::uint64_t transmit_failures_ = 0;
};

}  // namespace tributary::impair
