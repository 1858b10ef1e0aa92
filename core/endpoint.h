// The origin of a packet, and the destination of an answer: a value of 32 bytes that a front end
// makes (protocol rule 20) and that engines keep, compare and hand back. Equality binds a child to
// its place (rule 18).
//
//   word 0   port of the switch │ segment │ flow          how it is reached, and the flow there
//   word 1   station │ front end │ tagged
//   word 2,3 node                                         the host
//
// Engines use the port and the relations below. Only the front end that made the endpoint knows
// what segment, station and flow are: a VLAN tag, a MAC address, a UDP port or a queue pair.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace tributary {

// The front end that made an endpoint, and that can send to it.
enum class FrontEndId : std::uint8_t { none = 0, udp = 1, rdma = 2 };

// A host: an IPv6 address, or an IPv4 address as RFC 4291 section 2.5.5.2 maps it.
struct NodeId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const NodeId&) const = default;
};
constexpr NodeId node_of_ipv4(std::uint32_t ipv4) {
  return {0, std::uint64_t{0xFFFF} << 32 | ipv4};
}
// For a node that is an IPv4 address.
constexpr std::uint32_t ipv4_of(const NodeId& node) {
  return static_cast<std::uint32_t>(node.low);
}

class Endpoint {
 public:
  struct Parts {
    FrontEndId front_end = FrontEndId::none;
    std::uint16_t port = 0;  // of the switch, by place
    std::uint32_t flow = 0;
    NodeId node;
    std::uint64_t station = 0;  // 48 bits; 0: unknown, the host is behind a router
    std::optional<std::uint16_t> segment;
  };

  constexpr Endpoint() = default;
  constexpr explicit Endpoint(const Parts& p)
      : words_{p.port | std::uint64_t{p.segment.value_or(0)} << 16 | std::uint64_t{p.flow} << 32,
               p.station | std::uint64_t{static_cast<std::uint8_t>(p.front_end)} << 48 |
                   (p.segment ? kTagged : 0),
               p.node.high, p.node.low} {}

  // Returns false for a default endpoint: nothing came from it, and nothing can be sent to it.
  [[nodiscard]] constexpr bool is_known() const { return front_end() != FrontEndId::none; }
  [[nodiscard]] constexpr FrontEndId front_end() const {
    return static_cast<FrontEndId>(words_[1] >> 48 & 0x7F);
  }
  [[nodiscard]] constexpr std::uint16_t port() const {
    return static_cast<std::uint16_t>(words_[0]);
  }
  [[nodiscard]] constexpr NodeId node() const { return {words_[2], words_[3]}; }

  // For the front end that made this endpoint.
  [[nodiscard]] constexpr std::uint32_t flow() const {
    return static_cast<std::uint32_t>(words_[0] >> 32);
  }
  [[nodiscard]] constexpr std::uint64_t station() const { return words_[1] & kStation; }
  [[nodiscard]] constexpr std::optional<std::uint16_t> segment() const {
    if ((words_[1] & kTagged) == 0) return std::nullopt;
    return static_cast<std::uint16_t>(words_[0] >> 16);
  }

  // The same host, identified by its port alone from now on.
  [[nodiscard]] constexpr Endpoint without_station() const {
    Endpoint e = *this;
    e.words_[1] &= ~kStation;
    return e;
  }

  // Compares words, as they are stored: called for every packet, and hardly ever false.
  constexpr bool operator==(const Endpoint& o) const {
    return ((words_[0] ^ o.words_[0]) | (words_[1] ^ o.words_[1]) | (words_[2] ^ o.words_[2]) |
            (words_[3] ^ o.words_[3])) == 0;
  }
  // The same host in the same place; another process there may have another flow.
  [[nodiscard]] constexpr bool is_same_host(const Endpoint& o) const {
    return ((words_[0] ^ o.words_[0]) << 32) == 0 && words_[1] == o.words_[1] && node() == o.node();
  }
  // The same process behind the same port, whatever station it has now.
  [[nodiscard]] constexpr bool is_same_but_station(const Endpoint& o) const {
    return words_[0] == o.words_[0] && ((words_[1] ^ o.words_[1]) & ~kStation) == 0 &&
           node() == o.node();
  }

 private:
  static constexpr std::uint64_t kStation = (std::uint64_t{1} << 48) - 1;
  static constexpr std::uint64_t kTagged = std::uint64_t{1} << 55;

  std::array<std::uint64_t, 4> words_{};
};
static_assert(sizeof(Endpoint) == 32);

}  // namespace tributary
