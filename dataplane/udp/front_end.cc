#include "dataplane/udp/front_end.h"

namespace tributary::dataplane {

static_assert(FrontEnd<UdpFrontEnd>);

bool UdpFrontEnd::take_route(Endpoint& from) const {
  const NextHop* const router = next_hops_.toward(ipv4_of(from.node()));
  if (router == nullptr) return true;
  if (from.port() != router->port || from.segment()) return false;
  from = from.without_station();
  return true;
}

UdpFrontEnd::Written UdpFrontEnd::write(const aggregator::Outgoing& message, const UdpCopy& copy,
                                        std::span<std::byte> frame) const {
  const std::size_t bytes = writer_.write(message, copy, next_hops_, frame);
  if (bytes == FrameWriter::kNoNextHop) return {0, DropReason::no_next_hop};
  return {bytes, bytes == 0 ? DropReason::mtu : DropReason::none};
}

bool UdpFrontEnd::is_elsewhere(const Endpoint& peer) const {
  if (peer.front_end() != FrontEndId::udp) return false;
  const NextHop* const router = next_hops_.toward(ipv4_of(peer.node()));
  return (peer.station() == 0) != (router != nullptr) ||
         (router != nullptr && router->port != peer.port());
}

}  // namespace tributary::dataplane
