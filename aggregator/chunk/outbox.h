// What an engine wants sent: a bounded list that the caller turns into frames and clears after
// every call. Payload spans point into engine memory and are valid until the next call into
// the engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/net/frame.h"
#include "core/wire/header.h"

namespace tributary::aggregator {

// Where a packet came from, and where an answer goes. Equality is what binds a child to its
// place (protocol rule 18). Of who is behind a router, frames show the router's address, which may
// change: `mac` is zero, as that of no frame is.
struct Peer {
  std::uint16_t port = 0;  // switch port index
  std::uint16_t udp_port = 0;
  std::uint32_t ipv4 = 0;
  std::optional<std::uint16_t> vlan_tci;
  wire::MacAddress mac{};
  [[nodiscard]] bool is_routed() const { return wire::is_zero(mac); }
  // In words: it is asked with every packet, and hardly ever false.
  bool operator==(const Peer& o) const {
    return place() == o.place() && mac_bits() == o.mac_bits() && vlan_tci == o.vlan_tci;
  }

 private:
  // Port, UDP port and address.
  [[nodiscard]] std::uint64_t place() const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, reinterpret_cast<const std::byte*>(this), sizeof bits);
    return bits;
  }
  [[nodiscard]] std::uint64_t mac_bits() const {
    std::uint32_t first = 0;
    std::uint16_t last = 0;
    std::memcpy(&first, mac.data(), sizeof first);
    std::memcpy(&last, mac.data() + sizeof first, sizeof last);
    return first | std::uint64_t{last} << 32;
  }
};

// One frame of a message to a job's group: its tag, and the distinct ports it leaves through.
struct GroupCopy {
  std::optional<std::uint16_t> vlan_tci;
  std::span<const std::uint16_t> ports;
};

struct Outgoing {
  enum class To : std::uint8_t {
    peer,
    job_group,
    completion_host,  // of the job: inside this switch or another node
    parent,           // of this switch, in the job's tree
    hosted_root,      // `peer`, from the completion engine that this switch hosts for it
  };

  To to = To::peer;
  Peer peer;  // To::peer: the destination
  wire::Header header;
  std::size_t extension_bytes = 0;
  std::array<std::byte, wire::kMaxExtensionBytes> extensions;
  std::span<const std::byte> payload;

  [[nodiscard]] std::span<const std::byte> extension_span() const {
    return std::span(extensions).first(extension_bytes);
  }
};

class Outbox {
 public:
  explicit Outbox(std::size_t capacity) : items_(capacity) {}

  // The next free entry, reset but for its extension bytes; nullptr when full (counted).
  Outgoing* add() {
    if (used_ == items_.size()) {
      ++overflows_;
      return nullptr;
    }
    Outgoing& item = items_[used_++];
    item.to = Outgoing::To::peer;
    item.header = {};
    item.extension_bytes = 0;
    item.payload = {};
    return &item;
  }
  void clear() { used_ = 0; }

  [[nodiscard]] std::span<const Outgoing> items() const { return std::span(items_).first(used_); }
  [[nodiscard]] Outgoing& item(std::size_t i) { return items_[i]; }
  [[nodiscard]] Outgoing& last() { return items_[used_ - 1]; }
  [[nodiscard]] std::size_t room() const { return items_.size() - used_; }
  [[nodiscard]] std::uint64_t overflows() const { return overflows_; }

 private:
  std::vector<Outgoing> items_;
  std::size_t used_ = 0;
  std::uint64_t overflows_ = 0;
};

}  // namespace tributary::aggregator
