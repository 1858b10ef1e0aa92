// Results that ranks on this host read where the switch has written them once.
#include <rte_mbuf.h>

#include <array>

#include "dataplane/aggregation/aggregation.h"
#include "dataplane/frame/built_frame.h"
#include "dataplane/frontend/packet_bytes.h"
#include "dataplane/memif/memif_port.h"

namespace tributary::dataplane {
namespace {

// A shorter one is copied as quickly.
constexpr std::size_t kLeastShared = 512;
// One rank alone is copied to.
constexpr std::size_t kLeastReaders = 2;

class PortList {
 public:
  void add(std::uint16_t port) { ports_[count_++] = port; }
  [[nodiscard]] std::span<const std::uint16_t> get() const {
    return std::span(ports_).first(count_);
  }

 private:
  std::array<std::uint16_t, config::kMaxPorts> ports_;
  std::size_t count_ = 0;
};

}  // namespace

void Aggregation::offer_results(std::uint32_t job, std::uint16_t port) {
  MemifPort* const memif = lanes_[port]->port->memif_server();
  const auto& results = results_.of(job);
  if (memif != nullptr && results != nullptr) memif->offer(results);
}

// Captures, and telemetry of what it samples, are shown whole packets.
bool Aggregation::send_shared(const aggregator::Outgoing& message, const UdpCopy& copy) {
  if (message.header.type != wire::PacketType::result || message.payload.size() < kLeastShared ||
      copy.group_vlan || copy.member != nullptr ||
      (telemetry_ != nullptr && telemetry_->chooses(message.header)))
    return false;
  const auto& results = results_.of(message.header.job);
  if (results == nullptr) return false;
  PortList readers;
  PortList others;
  for (const std::uint16_t port : copy.ports) {
    const Lane& lane = *lanes_[port];
    const bool reads = lane.tap == nullptr && lane.port->reads_results(results->share().region);
    (reads ? readers : others).add(port);
  }
  if (readers.get().size() < kLeastReaders) return false;
  const PacketBytes packet = write_packet(message, false, results->open());
  if (packet.bytes == 0) return false;
  const auto reference = results->publish(packet.bytes);
  DropReason why{};
  rte_mbuf* const frame = build_frame(
      pool_,
      [&](std::span<std::byte> room) { return udp_.write(message.header.job, reference, room); },
      why);
  if (frame != nullptr)
    transmitter_.multicast(readers.get(), frame, TrafficClass::jobs);
  else
    for (const std::uint16_t port : readers.get()) lanes_[port]->counters.drops.add(why);
  if (!others.get().empty()) {
    UdpCopy rest = copy;
    rest.ports = others.get();
    send_udp(message, rest);
  }
  return true;
}

}  // namespace tributary::dataplane
