// Blocks of a pcapng file (IETF draft-ietf-opsawg-pcapng), which Wireshark, tshark and tcpdump
// read:
//
//   section header, an interface for each port, then packets and, last, losses
//
// Times are nanoseconds since 1970. Fields are in this machine's byte order, as the format allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tributary::control {

struct PcapngPacket {
  std::uint32_t interface = 0;  // in the order in which they were begun
  std::uint64_t when_ns = 0;
  std::uint32_t length = 0;  // of the frame, of which `bytes` is the beginning
  std::span<const std::byte> bytes;
  enum class Direction : std::uint8_t { unknown, inbound, outbound } direction = Direction::unknown;
  std::string_view comment;  // empty: none
};

// Each appends one block to `out`.
void pcapng_section(std::string& out, std::string_view application);
void pcapng_interface(std::string& out, std::string_view name, std::uint32_t snap);
void pcapng_packet(std::string& out, const PcapngPacket& packet);
// `missed`: packets of this interface that found no room. `comment`: empty: none.
void pcapng_losses(std::string& out, std::uint32_t interface, std::uint64_t when_ns,
                   std::uint64_t missed, std::string_view comment = {});

}  // namespace tributary::control
