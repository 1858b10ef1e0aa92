// LLDP (IEEE 802.1AB-2016): the neighbour at the other end of a cable.
//
// Pure. What is read is copied out, bounded by what a message can hold. Its texts are untrusted
// bytes until lldp_text() has made them printable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/net/frame.h"

namespace tributary::wire {

inline constexpr std::uint16_t kEtherTypeLldp = 0x88CC;
// Nearest bridge: clause 7.1.
inline constexpr MacAddress kLldpGroup = {0x01, 0x80, 0xC2, 0x00, 0x00, 0x0E};
// IEEE 802.1Q-2018, 8.6.3: no bridge forwards frames to these addresses.
constexpr bool is_bridge_reserved(const MacAddress& to) {
  return to[0] == 0x01 && to[1] == 0x80 && to[2] == 0xC2 && to[3] == 0 && to[4] == 0 &&
         to[5] < 0x10;
}

// The identifier of a chassis or a port: the kind of name, and the name.
struct LldpId {
  std::uint8_t subtype = 0;
  std::string name;  // 1 to 255 bytes
  bool operator==(const LldpId&) const = default;
};
inline constexpr std::uint8_t kLldpChassisMac = 4;  // table 8-2
inline constexpr std::uint8_t kLldpChassisAddress = 5;
inline constexpr std::uint8_t kLldpPortMac = 3;  // table 8-3
inline constexpr std::uint8_t kLldpPortAddress = 4;
inline constexpr std::uint8_t kLldpPortInterface = 5;

struct LldpMessage {
  LldpId chassis;
  LldpId port;
  std::uint16_t ttl_seconds = 0;  // 0: the sender shuts down
  // Empty: not in the message. At most 255 bytes each.
  std::string port_description;
  std::string system_name;
  std::string system_description;
  std::optional<std::uint32_t> management_ipv4;  // host order; the first that is given
};
// `body` is the payload of a frame. nullopt if it is cut short, or not as clause 9.2.8.7 requires
// (chassis, port and time to live first, each once). Skips TLVs of other organisations.
std::optional<LldpMessage> parse_lldp(std::span<const std::byte> body);

// A whole frame without a tag, 60 bytes at least; the sender is a bridge. Texts beyond 255 bytes
// are cut. Returns its length; 0 if `frame` is too small.
std::size_t write_lldp(const MacAddress& source, const LldpMessage& message,
                       std::span<std::byte> frame);
inline constexpr std::size_t kMaxLldpFrameBytes = 1514;

// Printable ASCII for the operator; other bytes become \xNN, and a backslash is doubled.
std::string lldp_text(const std::string& bytes);
// The same, with addresses as they are usually written.
std::string lldp_chassis_text(const LldpId& chassis);
std::string lldp_port_text(const LldpId& port);

}  // namespace tributary::wire
