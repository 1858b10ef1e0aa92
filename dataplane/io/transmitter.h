// The sending half of a worker lcore: queues per egress port, flushed once per turn. Ports whose
// transmit queues belong to other lcores are reached through these.
//
// Takes ownership of every frame given to it: sent, or dropped and counted under the egress
// port. A frame that a slow port does not take waits in a bounded backlog, in which jobs' packets
// and others leave each other their share (fair_backlog.h); one that joins a long backlog is marked
// (ECN), where its sender supports that. A job's packet that other ports hold, too, is copied
// before it is marked; other traffic is not copied. Where fragments are taken, jobs'
// packets that exceed a port's MTU leave as fragments.
#pragma once

#include <rte_mbuf_core.h>

#include <cstdint>
#include <span>

#include "dataplane/frame/fragmenter.h"
#include "dataplane/io/handover.h"
#include "dataplane/io/lane.h"
#include "dataplane/telemetry/loop_telemetry.h"

struct rte_mempool;

namespace tributary::dataplane {

class Transmitter {
 public:
  // `pool`: of copies. `peers`: the way to other lcores, if there are any.
  Transmitter(Lanes& lanes, rte_mempool* pool, HandoverEnd* peers = nullptr)
      : lanes_(lanes), pool_(pool), peers_(peers) {}
  // From now on jobs' packets may be cut.
  void cut_with(Fragmenter* fragmenter) { fragmenter_ = fragmenter; }
  // From now on frames that in-band telemetry has sampled get their hop when they are sent.
  void stamp_with(LoopTelemetry* telemetry) { telemetry_ = telemetry; }

  void send(std::uint16_t port, rte_mbuf* frame, TrafficClass traffic = TrafficClass::others) {
    Lane& lane = *lanes_[port];
    if (lane.takes_at_once() && frame->nb_segs == 1 && frame->pkt_len <= lane.most_bytes)
      lane.add(frame, traffic);
    else
      send_with_care(lane, frame, traffic);
  }
  // One frame to several ports by reference count; frees it if there are no ports. The frame must
  // not be written to afterwards (protocol rule 19).
  void multicast(std::span<const std::uint16_t> ports, rte_mbuf* frame,
                 TrafficClass traffic = TrafficClass::others);

  // Hands to the drivers, and to other lcores, what waits; returns the number of frames they took.
  std::size_t flush();
  // Hands what waits for a port to its driver; returns how many jobs' frames still wait, about so
  // many where another lcore sends.
  std::size_t offer_jobs(std::uint16_t port);
  // Drops what the port has refused with in-band telemetry's metadata in it.
  void discard_stamped(std::uint16_t port);
  // Hands the backlog of a port to the lcore that sends there from now on.
  void hand_on(std::uint16_t port);
  // Drops what waits for a port.
  void discard(std::uint16_t port, DropReason reason = DropReason::tx_link_down);

 private:
  // The slow path of send(): another lcore's queue, a refusal, a frame that has to be cut.
  void send_with_care(Lane& lane, rte_mbuf* frame, TrafficClass traffic);
  rte_mbuf* tell_of_queue(Lane& lane, rte_mbuf* frame, TrafficClass traffic);
  std::size_t flush_lane(Lane& lane);
  std::size_t give_all(Lane& lane);
  // Other lcores may know what waits.
  void publish(const Lane& lane);
  // Gives the frames that wait in front to the driver; returns how many it took.
  std::size_t give(Lane& lane);
  // The `burst` frames from `first` on of those that wait in front; returns how many are left of
  // them.
  std::size_t stamp(Lane& lane, std::size_t first, std::size_t burst);
  // Drops a frame at its egress port.
  void refuse(Lane& lane, rte_mbuf* frame, DropReason reason);
  // True where the frame exceeds what a port takes that is up, and may be cut.
  [[nodiscard]] bool to_cut(const Lane& lane, const rte_mbuf* frame, TrafficClass traffic) const;
  void multicast_cut(std::span<const std::uint16_t> ports, rte_mbuf* frame);
  // To ports that take the same; the frame stays the caller's.
  void send_pieces(std::span<const std::uint16_t> ports, rte_mbuf* frame);

  Lanes& lanes_;
  rte_mempool* pool_;
  HandoverEnd* peers_;
  Fragmenter* fragmenter_ = nullptr;
  LoopTelemetry* telemetry_ = nullptr;
};

}  // namespace tributary::dataplane
