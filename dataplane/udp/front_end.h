// The UDP front end (dataplane/frontend/front_end.h): aggregation packets in UDP datagrams over
// IPv4, with a VLAN tag or without, from hosts on the link or behind routers.
//
// Owned by a packet loop, whose thread alone calls it. A change of configuration makes another one,
// which adopts what this one has learned, and takes its place between two packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/wire/end_to_end.h"
#include "core/wire/integrity.h"
#include "dataplane/frame/classify.h"
#include "dataplane/frontend/front_end.h"
#include "dataplane/frontend/job_owners.h"
#include "dataplane/udp/frame_writer.h"
#include "dataplane/udp/group_copies.h"
#include "dataplane/udp/next_hops.h"

namespace tributary::dataplane {

class UdpFrontEnd {
 public:
  using Frame = Classified;  // as aggregate or host
  using Copy = UdpCopy;

  // `part`: of the configuration, what this lcore does; see Aggregation.
  UdpFrontEnd(const config::SwitchConfig& config, const config::SwitchConfig& part)
      : owners_(config), next_hops_(config), writer_(config), copies_(part) {}

  [[nodiscard]] std::optional<std::uint16_t> owner(const Classified& frame) const {
    return owners_.of(wire::peek_job(frame.udp.payload));
  }
  DropReason read(std::uint16_t port, const Classified& frame, Event& event) const;
  // A CRC32C is from end to end, and so is padding: no engine asks for either.
  static DropReason check(const Classified& frame, Event& event);

  std::span<const UdpCopy> copies(const aggregator::Outgoing& message,
                                  const aggregator::Members& members) {
    return copies_.of(message.header.job, members);
  }
  static UdpCopy copy_to(std::span<const std::uint16_t> ports) { return {.ports = ports}; }
  struct Written {
    std::size_t bytes = 0;  // the frame's length
    DropReason why = DropReason::none;
  };
  Written write(const aggregator::Outgoing& message, const UdpCopy& copy,
                std::span<std::byte> frame) const;
  [[nodiscard]] Written write(std::uint32_t job, const worker::memif::ResultReference& result,
                              std::span<std::byte> frame) const {
    return {writer_.write(job, result, frame), DropReason::mtu};
  }

  // Routers to peers, which the loop asks for and hears of.
  [[nodiscard]] NextHops& next_hops() { return next_hops_; }
  [[nodiscard]] const NextHops& next_hops() const { return next_hops_; }
  // Before it takes the place of this one.
  void adopt(const UdpFrontEnd& before) { next_hops_.adopt(before.next_hops_); }
  // Whether what was there cannot be there any more: the way to it is another one here.
  [[nodiscard]] bool is_elsewhere(const Endpoint& peer) const;

 private:
  // A host behind a router is known by its port, not by what a frame shows. False: the frame came
  // another way.
  bool take_route(Endpoint& from) const;

  JobOwners owners_;
  NextHops next_hops_;
  FrameWriter writer_;
  GroupCopies copies_;
};

inline DropReason UdpFrontEnd::read(std::uint16_t port, const Classified& frame,
                                    Event& event) const {
  event.from = Endpoint({.front_end = FrontEndId::udp,
                         .port = port,
                         .flow = frame.udp.endpoints.source_port,
                         .node = node_of_ipv4(frame.udp.endpoints.source_ip),
                         .station = frame.source,
                         .segment = frame.ethernet.vlan_tci});
  const DropReason bad = wire::parse(frame.udp.payload, event.packet);
  event.packet.congestion_experienced = frame.udp.congestion_experienced;
  if (bad == DropReason::none && !next_hops_.empty() && !take_route(event.from))
    return DropReason::wrong_ingress_port;
  return bad;
}

inline DropReason UdpFrontEnd::check(const Classified& frame, Event& event) {
  const DropReason bad = wire::check_integrity(frame.udp, event.packet);
  if (!event.packet.extensions.empty() && wire::is_end_to_end(event.packet.extensions))
    event.packet.extensions = {};
  return bad;
}

}  // namespace tributary::dataplane
