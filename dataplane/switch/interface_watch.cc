#include "dataplane/switch/interface_watch.h"

#include "dataplane/host/interface_offloads.h"

namespace tributary::dataplane {

// Loops drop and count what the interface would lose.
void InterfaceWatch::follow(std::uint16_t place, const Port& port, const PacketLoops& loops) {
  const std::uint32_t mtu = port.interface_mtu();
  if (mtu == told_mtus_[place]) return;
  for (const auto& packet_loop : loops)
    packet_loop->mailbox().ask(
        [at = packet_loop.get(), place, mtu](Instant) { at->limit_mtu(place, mtu); },
        Duration::seconds(1));
  told_mtus_[place] = mtu;
  report_mtu(port);
}

void InterfaceWatch::begin(std::size_t place, const Port& port) {
  told_mtus_[place] = port.interface_mtu();
  report_mtu(port);
  const std::string name(port.devargs().interface());
  if (port.devargs().kind->binding != config::Binding::opens || !merges_frames(name)) return;
  report_("port " + port.name() + ": interface '" + name +
          "' merges received frames (GRO), and what is then longer than the mtu is dropped "
          "(mtu-exceeded): ethtool -K " +
          name + " gro off lro off");
}

void InterfaceWatch::report_mtu(const Port& port) {
  const std::uint32_t mtu = port.interface_mtu();
  const std::uint32_t wanted = port.config().mtu;
  const std::string name(port.devargs().interface());
  const bool short_now = mtu != 0 && mtu < wanted;
  if (!short_now && short_ports_.erase(port.name()) == 0) return;
  if (!short_now)
    return report_("port " + port.name() + ": interface '" + name + "' has mtu " +
                   std::to_string(mtu) + ", enough for the port's " + std::to_string(wanted));
  short_ports_.insert(port.name());
  report_("port " + port.name() + ": interface '" + name + "' has mtu " + std::to_string(mtu) +
          ", the port " + std::to_string(wanted) +
          ": longer frames are dropped (mtu-exceeded); ip link set " + name + " mtu " +
          std::to_string(wanted) + ", or lower ports[].mtu");
}

}  // namespace tributary::dataplane
