#include "dataplane/telemetry/op_hops.h"

#include <algorithm>

#include "core/wire/header.h"

namespace tributary::dataplane {
namespace {

// Neighbouring ops and children get places of their own.
std::size_t place_of(const wire::Header& h, std::uint16_t child) {
  std::uint32_t mixed = h.job * 0x9E3779B1u ^ h.plane * 0x85EBCA6Bu;
  mixed += h.op * 31u + child;
  return mixed % OpHops::kPlaces;
}

}  // namespace

void OpHops::note(const telemetry::IntView& metadata, std::span<const std::byte> payload) {
  wire::Packet packet;
  if (metadata.hops() == 0 || wire::parse(payload, packet) != DropReason::none) return;
  const wire::Header& h = packet.header;
  const bool from_parent = h.type == wire::PacketType::result;
  if (!from_parent && h.type != wire::PacketType::aggregate &&
      h.type != wire::PacketType::contribution)
    return;
  const std::uint16_t child = from_parent ? kParent : h.child;
  Entry& entry = places_[place_of(h, child)];
  entry = {.job = h.job,
           .op = h.op,
           .chunk = h.chunk,
           .child = child,
           .plane = h.plane,
           .count = static_cast<std::uint8_t>(std::min<std::size_t>(metadata.hops(), 0xFF)),
           .hops = {}};
  for (std::size_t i = 0; i < entry.path().size(); ++i) {
    const telemetry::Hop hop = metadata.hop(metadata.hops() - 1 - i);
    entry.hops[i] = {hop.node, hop.latency_ns};
  }
}

std::vector<OpHops::Entry> OpHops::of(std::uint32_t job, std::uint32_t op) const {
  std::vector<Entry> found;
  std::copy_if(places_.begin(), places_.end(), std::back_inserter(found),
               [&](const Entry& one) { return one.count != 0 && one.job == job && one.op == op; });
  return found;
}

}  // namespace tributary::dataplane
