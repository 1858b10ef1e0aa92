// The way out of forwarded frames: each port gets the form that it takes.
//
//   frame ──▶ linear, where a port sends no chains
//         ──▶ with a tag ──▶ ports where its VLAN has one
//         ──▶ without    ──▶ the others
//
// One buffer for each form, by reference count. It is written before it has a second holder, or it
// is a copy.
#pragma once

#include <rte_mbuf_core.h>

#include <cstdint>

#include "dataplane/frame/vlan.h"
#include "dataplane/io/lane.h"
#include "dataplane/io/transmitter.h"

namespace tributary::dataplane {

// Ports whose drivers send chained buffers.
PortMask chain_ports(const Lanes& lanes);

class Egress {
 public:
  Egress(const VlanTable& vlans, Lanes& lanes, Transmitter& transmitter, rte_mempool* pool,
         PortMask takes_chains);

  // Another device is behind a port: what ports take may be different.
  void look_at_ports() { takes_chains_ = chain_ports(lanes_); }

  // Each takes ownership of the frame. To one port:
  void send(std::uint16_t port, rte_mbuf* frame, const wire::EthernetView& view,
            std::uint16_t vlan) {
    if (vlans_.transparent() && frame->nb_segs == 1) return transmitter_.send(port, frame);
    send(mask_of(port), frame, view, vlan);
  }
  // To several; `to` is not empty.
  void send(PortMask to, rte_mbuf* frame, const wire::EthernetView& view, std::uint16_t vlan);

 private:
  // In two forms, or in another one than it came in.
  void send_forms(PortMask to, rte_mbuf* frame, const wire::EthernetView& view, std::uint16_t vlan);
  void send_tagged(PortMask to, rte_mbuf* frame, const wire::EthernetView& view,
                   std::uint16_t vlan);
  void send_untagged(PortMask to, rte_mbuf* frame, const wire::EthernetView& view);
  void send_as_is(PortMask to, rte_mbuf* frame);
  // `frame`, if given, is offered to a capture; the caller frees it.
  void count(PortMask to, DropReason reason, const rte_mbuf* frame = nullptr);

  const VlanTable& vlans_;
  Lanes& lanes_;
  Transmitter& transmitter_;
  rte_mempool* pool_;
  PortMask takes_chains_;
};

}  // namespace tributary::dataplane
