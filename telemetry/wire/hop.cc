#include "telemetry/wire/hop.h"

#include "telemetry/wire/bytes.h"

namespace tributary::telemetry {
namespace {

constexpr unsigned kQueueShift = 24;

// Calls take(bit, offset) for each bit that is set, in the order of the values on the wire.
template <typename Take>
void each_value(std::uint16_t bitmap, Take take) {
  std::size_t at = 0;
  for (std::uint32_t bit = 0x8000; bit != 0; bit >>= 1) {
    if ((bitmap & bit) == 0) continue;
    take(static_cast<std::uint16_t>(bit), at);
    at += std::size_t{words_of(static_cast<std::uint16_t>(bit))} * 4;
  }
}

void write_value(const Hop& hop, std::uint16_t bit, std::span<std::byte> out, std::size_t at) {
  switch (bit) {
    case kNodeId: return store(out, at, hop.node);
    case kPorts: store(out, at, hop.ingress_port); return store(out, at + 2, hop.egress_port);
    case kHopLatency: return store(out, at, hop.latency_ns);
    case kQueue:
      return store(out, at,
                   std::uint32_t{hop.queue} << kQueueShift | (hop.queue_occupancy & kUnknown24));
    case kIngressTime: return store(out, at, hop.ingress_ns);
    case kEgressTime: return store(out, at, hop.egress_ns);
    case kWidePorts: store(out, at, hop.ingress_wide); return store(out, at + 4, hop.egress_wide);
    case kUtilisation: return store(out, at, hop.utilisation_ppm);
    case kBuffer: return store(out, at, hop.buffer);
    default: return store(out, at, kUnknown32);
  }
}

void read_value(Hop& hop, std::uint16_t bit, std::span<const std::byte> words, std::size_t at) {
  switch (bit) {
    case kNodeId: hop.node = load<std::uint32_t>(words, at); break;
    case kPorts:
      hop.ingress_port = load<std::uint16_t>(words, at);
      hop.egress_port = load<std::uint16_t>(words, at + 2);
      break;
    case kHopLatency: hop.latency_ns = load<std::uint32_t>(words, at); break;
    case kQueue:
      hop.queue = load8(words, at);
      hop.queue_occupancy = load<std::uint32_t>(words, at) & kUnknown24;
      break;
    case kIngressTime: hop.ingress_ns = load<std::uint64_t>(words, at); break;
    case kEgressTime: hop.egress_ns = load<std::uint64_t>(words, at); break;
    case kWidePorts:
      hop.ingress_wide = load<std::uint32_t>(words, at);
      hop.egress_wide = load<std::uint32_t>(words, at + 4);
      break;
    case kUtilisation: hop.utilisation_ppm = load<std::uint32_t>(words, at); break;
    case kBuffer: hop.buffer = load<std::uint32_t>(words, at); break;
    default: break;
  }
}

}  // namespace

void write_hop(const Hop& hop, std::uint16_t bitmap, std::span<std::byte> out) {
  each_value(bitmap, [&](std::uint16_t bit, std::size_t at) { write_value(hop, bit, out, at); });
}

Hop read_hop(std::uint16_t bitmap, std::span<const std::byte> words) {
  Hop hop;
  each_value(bitmap, [&](std::uint16_t bit, std::size_t at) { read_value(hop, bit, words, at); });
  return hop;
}

}  // namespace tributary::telemetry
