// In-band telemetry inside UDP packets: INT-MD v2.1 of P4.org, between the UDP header and its
// payload.
//
//   UDP │ shim 4 B │ metadata header 12 B │ newest hop │ … │ source │ payload
//
// A packet that carries INT is marked by its UDP destination port or by its DSCP; the shim keeps
// the original one. A domain uses one of the two ways. A source adds shim, header and its hop; a
// transit hop adds exactly HopML words or nothing; a sink takes all of it out, and the packet is
// byte for byte what the source got. Checksums are only amended by differences, so that the
// receiver still detects damage on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "telemetry/wire/hop.h"
#include "telemetry/wire/udp_place.h"

namespace tributary::telemetry {

inline constexpr std::size_t kShimBytes = 4;
inline constexpr std::size_t kIntHeaderBytes = 12;
inline constexpr std::size_t kIntFixedBytes = kShimBytes + kIntHeaderBytes;
inline constexpr unsigned kMostHopWords = 31;
inline constexpr std::size_t kMostStackBytes = 255 * 4 - kIntHeaderBytes;

struct Marking {
  std::uint16_t udp_port = 5000;
  std::optional<std::uint8_t> dscp;  // if set, this marks packets, and the port is unchanged
};

// A frame in a buffer that may be longer than the frame. Ethernet padding moves with it.
struct Frame {
  std::span<std::byte> buffer;
  std::size_t length = 0;
  std::size_t mtu = 1500;  // of the egress port, for the IP packet

  [[nodiscard]] std::span<std::byte> bytes() const { return buffer.first(length); }
};

struct IntHeader {
  bool discard = false;
  bool hops_exceeded = false;  // E
  bool mtu_exceeded = false;   // M
  std::uint8_t hop_words = 0;
  std::uint8_t remaining_hops = 0;
  std::uint16_t bitmap = 0;
  std::uint16_t domain = 0;
  std::uint16_t domain_bitmap = 0;
  std::uint16_t domain_flags = 0;
  bool operator==(const IntHeader&) const = default;
};

// A checked INT area. `stack` is a whole number of hops, newest first.
struct IntView {
  IntHeader header;
  std::uint8_t next_protocol = 0;  // 0: marked by DSCP, 1: by the port
  std::uint16_t original = 0;      // port, or DSCP in its 8 bits shifted left by two
  std::span<const std::byte> stack;

  [[nodiscard]] std::size_t hops() const {
    return header.hop_words == 0 ? 0 : stack.size() / (header.hop_words * std::size_t{4});
  }
  [[nodiscard]] Hop hop(std::size_t index) const;
  [[nodiscard]] std::size_t bytes() const { return kIntFixedBytes + stack.size(); }
};

// True if the packet's mark says that it carries INT.
bool is_marked(std::span<const std::byte> frame, const UdpPlace& place, const Marking& marking);
// The INT area at the start of `payload`.
Outcome parse_int(std::span<const std::byte> payload, IntView& view);

// Source: changes nothing unless the outcome is done. `bitmap` must hold known instructions without
// the checksum complement; `most_hops` is at least 1.
Outcome insert_int(Frame& frame, const Marking& marking, std::uint16_t bitmap,
                   std::uint8_t most_hops, const Hop& hop);
// Transit: if the outcome is exceeds_mtu or hops_used_up, the hop sets that flag in the packet.
Outcome push_hop(Frame& frame, const Marking& marking, const Hop& hop);
// Sink: moves the INT data to `taken`, which `view` then refers to. Leaves refused packets
// unchanged.
struct Taken {
  std::byte bytes[kIntFixedBytes + kMostStackBytes];
};
Outcome strip_int(Frame& frame, const Marking& marking, Taken& taken, IntView& view);

}  // namespace tributary::telemetry
