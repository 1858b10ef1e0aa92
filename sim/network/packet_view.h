// The aggregation packet inside a frame, if there is one: how checkers, hostile senders and event
// logs read what passes by. Looks at form only, not at integrity.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <variant>

#include "core/net/frame.h"
#include "core/wire/header.h"

namespace tributary::sim {

struct FrameParts {
  wire::EthernetView ethernet;
  wire::Udp4View udp;
  wire::Packet packet;
};

inline std::optional<FrameParts> view_parts(std::span<const std::byte> frame) {
  const auto ethernet = wire::parse_ethernet(frame);
  const auto* eth = std::get_if<wire::EthernetView>(&ethernet);
  if (eth == nullptr || eth->ether_type != wire::kEtherTypeIpv4) return std::nullopt;
  const auto ip = wire::parse_udp4(eth->payload);
  const auto* udp = std::get_if<std::optional<wire::Udp4View>>(&ip);
  if (udp == nullptr || !*udp) return std::nullopt;
  const auto parsed = wire::parse((*udp)->payload);
  const auto* packet = std::get_if<wire::Packet>(&parsed);
  if (packet == nullptr) return std::nullopt;
  return FrameParts{*eth, **udp, *packet};
}

inline std::optional<wire::Packet> view_packet(std::span<const std::byte> frame) {
  auto parts = view_parts(frame);
  if (!parts) return std::nullopt;
  return parts->packet;
}

}  // namespace tributary::sim
