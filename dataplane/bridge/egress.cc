#include "dataplane/bridge/egress.h"

#include <rte_mbuf.h>

#include <array>
#include <bit>

#include "dataplane/frame/frame_tag.h"
#include "dataplane/io/capture.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint16_t kPriority = 0xF000;  // of a tag: priority and DEI

template <typename F>
void for_each_port(PortMask ports, F f) {
  for (; ports != 0; ports &= ports - 1) f(static_cast<std::uint16_t>(std::countr_zero(ports)));
}

}  // namespace

PortMask chain_ports(const Lanes& lanes) {
  PortMask ports = 0;
  for (std::uint16_t port = 0; port < lanes.size(); ++port)
    if (lanes[port]->port->sends_segments()) ports |= mask_of(port);
  return ports;
}

Egress::Egress(const VlanTable& vlans, Lanes& lanes, Transmitter& transmitter, rte_mempool* pool,
               PortMask takes_chains)
    : vlans_(vlans),
      lanes_(lanes),
      transmitter_(transmitter),
      pool_(pool),
      takes_chains_(takes_chains) {}

void Egress::send(PortMask to, rte_mbuf* frame, const wire::EthernetView& view,
                  std::uint16_t vlan) {
  if (frame->nb_segs > 1 && (to & ~takes_chains_) != 0) {
    rte_mbuf* const linear = copy_frame(frame, pool_);
    rte_pktmbuf_free(frame);
    if (linear == nullptr) return count(to, DropReason::no_mbuf);
    frame = linear;
  }
  if (vlans_.transparent() || vlan == 0) return send_as_is(to, frame);
  send_forms(to, frame, view, vlan);
}

void Egress::send_forms(PortMask to, rte_mbuf* frame, const wire::EthernetView& view,
                        std::uint16_t vlan) {
  const PortMask tagged = to & vlans_.tagged(vlan);
  const PortMask untagged = to & ~tagged;
  if (untagged == 0) return send_tagged(tagged, frame, view, vlan);
  if (tagged != 0) {
    if (rte_mbuf* const other = copy_frame(frame, pool_); other != nullptr)
      send_tagged(tagged, other, view, vlan);
    else
      count(tagged, DropReason::no_mbuf);
  }
  send_untagged(untagged, frame, view);
}

void Egress::send_tagged(PortMask to, rte_mbuf* frame, const wire::EthernetView& view,
                         std::uint16_t vlan) {
  const std::uint16_t had = view.vlan_tci.value_or(0);
  const auto tci = static_cast<std::uint16_t>((had & kPriority) | vlan);
  if (!view.vlan_tci || had != tci) frame = with_tag(frame, view.vlan_tci.has_value(), tci, pool_);
  if (frame == nullptr) return count(to, DropReason::no_mbuf);
  send_as_is(to, frame);
}

void Egress::send_untagged(PortMask to, rte_mbuf* frame, const wire::EthernetView& view) {
  // The frame without its tag must not begin with another tag: its sender would choose the VLAN.
  if (is_vlan_tag(view.ether_type)) {
    count(to, DropReason::vlan_stacked, frame);
    return rte_pktmbuf_free(frame);
  }
  if (view.vlan_tci) frame = without_tag(frame, pool_);
  if (frame == nullptr) return count(to, DropReason::no_mbuf);
  send_as_is(to, frame);
}

void Egress::send_as_is(PortMask to, rte_mbuf* frame) {
  if (std::has_single_bit(to))
    return transmitter_.send(static_cast<std::uint16_t>(std::countr_zero(to)), frame);
  std::array<std::uint16_t, 8 * sizeof(PortMask)> ports;
  std::size_t count = 0;
  for_each_port(to, [&](std::uint16_t port) { ports[count++] = port; });
  transmitter_.multicast(std::span(ports).first(count), frame);
}

void Egress::count(PortMask to, DropReason reason, const rte_mbuf* frame) {
  for_each_port(to, [&](std::uint16_t port) {
    Lane& lane = *lanes_[port];
    lane.counters.drops.add(reason);
    if (frame != nullptr && lane.tap != nullptr)
      lane.tap->offer(CapturePoint::drop, port, frame, reason);
  });
}

}  // namespace tributary::dataplane
