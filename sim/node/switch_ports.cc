#include "sim/node/switch_ports.h"

#include "core/net/frame.h"

namespace tributary::sim {

SwitchPorts::SwitchPorts(const std::vector<config::PortConfig>& ports) : tallies_(ports.size()) {
  for (const config::PortConfig& port : ports)
    largest_frame_.push_back(port.mtu + wire::kEthernetBytes + wire::kVlanBytes);
}

void SwitchPorts::drop(std::uint16_t port, DropReason reason) {
  ++tallies_[port].dropped;
  drops_.add(reason);
}

void SwitchPorts::drop_copy(std::uint16_t port, DropReason reason) {
  ++tallies_[port].send_dropped;
  drops_.add(reason);
}

bool SwitchPorts::fits(std::uint16_t port, const FrameRef& frame) {
  ++tallies_[port].to_send;
  if (frame.wire_bytes() <= largest_frame_[port]) return true;
  drop_copy(port, DropReason::mtu);
  return false;
}

void SwitchPorts::count_sent(std::uint16_t port, SendResult result) {
  switch (result) {
    case SendResult::sent: ++tallies_[port].sent; return;
    case SendResult::queue_full: return drop_copy(port, DropReason::tx_full);
    case SendResult::link_down: return drop_copy(port, DropReason::tx_link_down);
  }
}

}  // namespace tributary::sim
