// Finds UDP in a frame or an IP packet, and adapts its headers to bytes that are inserted between
// UDP and its payload, or removed from there.
//
// Accepts up to two VLAN tags, IPv4 without options or fragments, and IPv6 whose next header is
// UDP. Lengths and the IPv4 header checksum must be right: otherwise a change by differences could
// not be undone byte for byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tributary::telemetry {

enum class Outcome : std::uint8_t {
  done,
  not_udp,       // not IP, not UDP, a fragment, or IPv4 options
  truncated,     // a length that claims more than there is, or disagrees
  bad_checksum,  // the IPv4 header's
  absent,        // no INT in the packet
  present,       // INT already in the packet
  bad_stack,     // version, type, or lengths of INT that cannot be
  no_room,       // the buffer is too small, or a length field would overflow
  exceeds_mtu,   // the packet would; a transit hop has set M
  hops_used_up,  // remaining hop count 0; a transit hop has set E
  bad_request,   // a transit hop cannot answer the instructions; it adds nothing
};
const char* text_of(Outcome outcome);

struct UdpPlace {
  std::size_t ip = 0;
  std::size_t udp = 0;
  std::size_t end = 0;  // of the IP packet: Ethernet padding may follow
  bool ipv6 = false;

  [[nodiscard]] std::size_t payload() const { return udp + 8; }
  [[nodiscard]] std::size_t payload_bytes() const { return end - payload(); }
  [[nodiscard]] std::size_t packet_bytes() const { return end - ip; }
};

// For an Ethernet frame; for an IP packet that begins at `ip`. If `whole` is false, the packet may
// be cut short behind its UDP header.
Outcome find_udp(std::span<const std::byte> frame, UdpPlace& place);
Outcome find_udp_at(std::span<const std::byte> frame, std::size_t ip, bool whole, UdpPlace& place);

std::uint8_t dscp_of(std::span<const std::byte> frame, const UdpPlace& place);
// Amends the IPv4 checksum; the UDP checksum does not cover the DSCP.
void set_dscp(std::span<std::byte> frame, const UdpPlace& place, std::uint8_t dscp);
// Amends the UDP checksum.
void set_destination_port(std::span<std::byte> frame, const UdpPlace& place, std::uint16_t port);

// Amends the UDP checksum for a replaced word: a checksum of zero stays zero, and no other one
// becomes zero (RFC 768, RFC 1624). `times`: a length counts twice, in the pseudo header too.
void amend_udp_checksum(std::span<std::byte> frame, const UdpPlace& place, std::uint16_t before,
                        std::uint16_t after, unsigned times = 1);
// The same for bytes that were added or removed at an even offset.
void amend_udp_checksum(std::span<std::byte> frame, const UdpPlace& place,
                        std::span<const std::byte> bytes, bool added);
// Adapts IP and UDP lengths and checksums to a payload that is `bytes` longer or shorter. Returns
// false, and changes nothing, if a length would not fit its field.
bool change_lengths(std::span<std::byte> frame, UdpPlace& place, std::ptrdiff_t bytes);

}  // namespace tributary::telemetry
