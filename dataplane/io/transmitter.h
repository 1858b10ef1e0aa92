// The sending half of a worker lcore: queues per egress port, flushed once per turn. Ports whose
// transmit queues belong to other lcores are reached through these.
//
// Takes ownership of every frame given to it: sent, or dropped and counted under the egress
// port. A frame that a slow port does not take waits in a bounded backlog, in which jobs' packets
// and others leave each other their share (fair_backlog.h); one that joins a long backlog is marked
// (ECN), where its sender listens. Of what other ports have, too, a job's packet is copied for
// that; what others send is not. Where fragments are taken, jobs'
// packets that exceed a port's MTU leave as such.
#pragma once

#include <rte_mbuf_core.h>

#include <cstdint>
#include <span>

#include "dataplane/frame/fragmenter.h"
#include "dataplane/io/handover.h"
#include "dataplane/io/lane.h"

struct rte_mempool;

namespace tributary::dataplane {

class Transmitter {
 public:
  // `pool`: of copies. `peers`: the way to other lcores, if there are any.
  Transmitter(Lanes& lanes, rte_mempool* pool, HandoverEnd* peers = nullptr)
      : lanes_(lanes), pool_(pool), peers_(peers) {}
  // From now on jobs' packets may be cut.
  void cut_with(Fragmenter* fragmenter) { fragmenter_ = fragmenter; }

  void send(std::uint16_t port, rte_mbuf* frame, TrafficClass traffic = TrafficClass::others) {
    Lane& lane = *lanes_[port];
    if (lane.takes_at_once() && frame->nb_segs == 1 && frame->pkt_len <= lane.most_bytes)
      lane.add(frame, traffic);
    else
      send_with_care(lane, frame, traffic);
  }
  // One frame to several ports by reference count; frees it if there is none. Nobody may
  // write to it afterwards (protocol rule 19).
  void multicast(std::span<const std::uint16_t> ports, rte_mbuf* frame,
                 TrafficClass traffic = TrafficClass::others);

  // Hands to the drivers, and to other lcores, what waits; returns the number of frames they took.
  std::size_t flush();
  // What waits for a port goes to the lcore that sends there from now on.
  void hand_on(std::uint16_t port);
  // Drops what waits for a port.
  void discard(std::uint16_t port, DropReason reason = DropReason::tx_link_down);

 private:
  // Whatever may be in the way of the frame, or of the lane.
  void send_with_care(Lane& lane, rte_mbuf* frame, TrafficClass traffic);
  rte_mbuf* tell_of_queue(Lane& lane, rte_mbuf* frame, TrafficClass traffic);
  std::size_t flush_lane(Lane& lane);
  // What the driver takes of those that wait in front; returns how many.
  std::size_t give(Lane& lane);
  // True where the frame exceeds what a port takes that is up, and may be cut.
  [[nodiscard]] bool to_cut(const Lane& lane, const rte_mbuf* frame, TrafficClass traffic) const;
  void multicast_cut(std::span<const std::uint16_t> ports, rte_mbuf* frame);
  // To ports that take the same; the frame stays the caller's.
  void send_pieces(std::span<const std::uint16_t> ports, rte_mbuf* frame);

  Lanes& lanes_;
  rte_mempool* pool_;
  HandoverEnd* peers_;
  Fragmenter* fragmenter_ = nullptr;
};

}  // namespace tributary::dataplane
