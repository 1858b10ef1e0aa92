// Frames whose data waits to be summed, as the packet loop holds them
// (dataplane/loop/packet_loop.cc, dataplane/aggregation/aggregation.cc,
// dataplane/frame/held_frames.h): those of several bursts of one turn.
//
//   keep(frame) ─▶ begin_packet() ─▶ note_packet() ─▶ end_frame() ─▶ ... ─▶ finish()
//   a copy that     sums wait if      what became      a burst ends:        turn ends: sums are
//   it may read     the port checks   of its data      none wait, or full   made, copies spoiled
//
// The bursts of a turn are cut from its frames in the order in which they came, so that a switch
// decides the same whether its sums wait or not. The engine reads copies. One that is let go has
// all its bits turned over, and is not used again for a while: a sum that is made too late is
// wrong. The address sanitizer stops a read of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggregator/engine/engine.h"
#include "core/prng.h"
#include "sim/network/frame.h"

namespace tributary::sim {

// X(enumerator, name in tables)
#define TRIBUTARY_SIM_HELD_EVENTS(X)                                  \
  X(over_burst, "sum waited beyond its burst")                        \
  X(completed, "sum waited: its chunk was complete")                  \
  X(given_up, "sum waited: its chunk was given up")                   \
  X(replaced, "sum waited: a result took its place")                  \
  X(aborted, "sums waited: an epoch ended")                           \
  X(hosted, "sums waited: a packet for an engine hosted here")        \
  X(queue_full, "sums waited: of more chunks than there is room for") \
  X(pass_full, "sum waited: for as much data as one pass takes")      \
  X(full, "sums waited: no room for another burst")                   \
  X(turn_end, "sums waited: the turn ended")

enum class HeldEvent : std::uint8_t {
#define X(id, label) id,
  TRIBUTARY_SIM_HELD_EVENTS(X)
#undef X
      count_
};
inline constexpr std::size_t kHeldEventCount = static_cast<std::size_t>(HeldEvent::count_);

class HeldData {
 public:
  // `most`: frames that one switch may hold; this one draws how many it does. 0: none, and sums are
  // made at once, from frames as they came.
  HeldData(std::uint32_t most, std::size_t ports, std::uint64_t seed);
  ~HeldData();
  HeldData(const HeldData&) = delete;
  HeldData& operator=(const HeldData&) = delete;

  [[nodiscard]] bool holds() const { return most_frames_ != 0; }
  // The frame's bytes, for an engine, until its burst or the turn is over.
  std::span<const std::byte> keep(const FrameRef& frame);
  // The same until give_back().
  std::span<const std::byte> lend(const FrameRef& frame);
  void give_back();
  // A packet of a job, which the engine sees next.
  void begin_packet(std::uint16_t port, aggregator::Engine& engine);
  // `summed_at_once`: its job's data does not wait.
  void note_packet(const wire::Packet& packet, aggregator::Decision decision, bool summed_at_once,
                   const aggregator::Engine& engine);
  void note_hosted();
  // A frame of the turn is done with, whatever it was.
  void end_frame(aggregator::Engine& engine);
  void finish(aggregator::Engine& engine);

  [[nodiscard]] const std::array<std::uint64_t, kHeldEventCount>& events() const { return events_; }

 private:
  // A chunk, and how much of its data waits.
  struct Waiting {
    std::uint32_t job, seq;
    std::uint16_t epoch;
    std::uint8_t shard;
    std::uint32_t data;
    bool over_burst;
    [[nodiscard]] bool is_of(const wire::Header& h) const {
      return job == h.job && seq == h.seq && shard == h.shard;
    }
  };

  void count(HeldEvent event) { ++events_[static_cast<std::size_t>(event)]; }
  void begin_burst();
  void end_burst(aggregator::Engine& engine);
  void make_sums(aggregator::Engine& engine);
  void note_data(const wire::Header& h, std::size_t payload_bytes);
  void note_epoch(std::uint32_t job, const aggregator::Engine& engine);
  void note_end(const wire::Packet& packet, aggregator::Decision decision);
  [[nodiscard]] std::vector<Waiting>::iterator find(const wire::Header& h);

  std::uint32_t most_frames_ = 0;
  std::size_t most_bytes_ = 0;
  std::uint32_t most_burst_ = 0;
  std::vector<bool> checks_;  // by port: its device checks checksums
  Prng random_;
  std::uint32_t left_of_burst_ = 0;
  bool first_of_burst_ = true;  // no packet of it has been seen
  bool sums_wait_ = false;
  // Taken in turn, so that one that is let go stays as it is for as long as possible.
  std::vector<std::vector<std::byte>> copies_;
  std::size_t next_copy_ = 0;
  std::size_t held_ = 0;  // copies, up to the next one
  std::size_t held_bytes_ = 0;
  std::vector<std::byte> lent_;
  std::vector<Waiting> waiting_;
  std::array<std::uint64_t, kHeldEventCount> events_{};
};

}  // namespace tributary::sim
