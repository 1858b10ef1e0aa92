// L2 forwarding of what is not the switch's own: learn the source, look up the destination,
// flood what is unknown, within a VLAN.
//
//   filter (every burst): access control
//   admit (every frame):  what access control says ─▶ MTU ─▶ VLAN of its port ─▶ learn
//   forward:              look up, or who wants the group ─▶ storm control ─▶ egress
#pragma once

#include <cstdint>

#include "core/time.h"
#include "core/wire/frame.h"
#include "dataplane/acl.h"
#include "dataplane/egress.h"
#include "dataplane/fdb.h"
#include "dataplane/handover.h"
#include "dataplane/lane.h"
#include "dataplane/snooping.h"
#include "dataplane/storm.h"
#include "dataplane/transmitter.h"
#include "dataplane/vlan.h"

namespace tributary::dataplane {

class Forwarder {
 public:
  Forwarder(const config::SwitchConfig& config, std::uint64_t seed, Lanes& lanes,
            Transmitter& transmitter, rte_mempool* pool);

  // For every burst that came in, before its frames are admitted.
  void filter(std::uint16_t ingress, std::span<rte_mbuf* const> burst) {
    if (!acl_.idle()) acl_.classify(ingress, burst);
  }
  // For every frame with a valid source, the i-th of its burst, whatever becomes of it: whether
  // the port takes it, and then its source is learned. Anything but count_: to be dropped.
  DropReason admit(std::uint16_t ingress, std::size_t i, const rte_mbuf* frame,
                   const wire::EthernetView& view, Instant now);
  // Takes ownership of the frame, which was admitted.
  void forward(std::uint16_t ingress, rte_mbuf* frame, const wire::EthernetView& view, Instant now);
  // Several lcores: each has the whole table, and tells the others what it learns.
  void tell(HandoverEnd* peers) { peers_ = peers; }
  // What another one has learned. What is known since later stays: all end with the same.
  void learn_from_peer(const Learned& address);
  std::size_t expire(Instant now) {
    return fdb_.expire(now, kExpirePerTurn) + (snooping_ ? snooping_->expire(now) : 0);
  }

  [[nodiscard]] const Fdb& fdb() const { return fdb_; }
  [[nodiscard]] const Acl& acl() const { return acl_; }
  // nullptr: groups are flooded.
  [[nodiscard]] const Snooping* snooping() const { return snooping_ ? &*snooping_ : nullptr; }

 private:
  bool announce(const Learned& address);

  static constexpr std::size_t kExpirePerTurn = 16;

  // Of these ports of its VLAN, those that a frame to an address goes to; count_, or why it goes
  // nowhere.
  DropReason route(std::uint16_t ingress, const rte_mbuf* frame, const wire::EthernetView& view,
                   std::uint16_t vlan, Instant now, PortMask& to);
  // Of a frame whose destination has no port of its own.
  [[nodiscard]] bool may_flood(std::uint16_t ingress, const wire::MacAddress& to, Instant now);
  void learn(std::uint16_t ingress, const wire::EthernetView& frame, std::uint16_t vlan,
             Instant now);

  Lanes& lanes_;
  Duration refresh_;  // how often a steady source is learned again
  VlanTable vlans_;
  Acl acl_;
  StormControl storm_;
  Fdb fdb_;
  std::optional<Snooping> snooping_;
  Egress egress_;
  HandoverEnd* peers_ = nullptr;
};

}  // namespace tributary::dataplane
