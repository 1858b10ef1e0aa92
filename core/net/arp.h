// ARP for IPv4 over Ethernet (RFC 826): how nodes that own their frames find each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/net/frame.h"

namespace tributary::wire {

inline constexpr std::size_t kArpFrameBytes = kEthernetBytes + 28;

struct ArpView {
  bool is_request = false;  // else a reply
  MacAddress sender_mac{};
  std::uint32_t sender_ip = 0;  // host order, as target_ip
  MacAddress target_mac{};      // not meaningful in a request
  std::uint32_t target_ip = 0;
};
// `packet` is the payload of an ARP frame. nullopt: truncated, not IPv4 over Ethernet, neither
// request nor reply, or a sender address that no node may have (zero or multicast).
std::optional<ArpView> parse_arp(std::span<const std::byte> packet);

// Both return kArpFrameBytes, or 0 if `frame` is too small. Untagged.
std::size_t write_arp_request(const MacAddress& own_mac, std::uint32_t own_ip,
                              std::uint32_t wanted_ip, std::span<std::byte> frame);
std::size_t write_arp_reply(const MacAddress& own_mac, const ArpView& request,
                            std::span<std::byte> frame);

}  // namespace tributary::wire
