// The other side of the wire for tests of the loop: builds the packets of one rank and reads
// what the switch sends.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "core/wire/extension.h"
#include "core/wire/integrity.h"
#include "tests/dataplane/ring_switch.h"

namespace tributary::dataplane {

// A packet of the switch, checked from Ethernet to integrity; spans point into `frame`.
struct Received {
  wire::EthernetView ethernet;
  wire::Udp4View udp;
  wire::Packet packet;
};
inline std::optional<Received> read_packet(std::span<const std::byte> frame) {
  Received r;
  const auto ethernet = wire::parse_ethernet(frame);
  if (!std::holds_alternative<wire::EthernetView>(ethernet)) return std::nullopt;
  r.ethernet = std::get<wire::EthernetView>(ethernet);
  const auto udp = wire::parse_udp4(r.ethernet.payload);
  const auto* view = std::get_if<std::optional<wire::Udp4View>>(&udp);
  if (view == nullptr || !*view) return std::nullopt;
  r.udp = **view;
  const auto packet = wire::parse(r.udp.payload);
  if (!std::holds_alternative<wire::Packet>(packet)) return std::nullopt;
  r.packet = std::get<wire::Packet>(packet);
  if (wire::check_integrity(r.udp, r.packet) != DropReason::none) return std::nullopt;
  return r;
}

class TestWorker {
 public:
  TestWorker(const config::SwitchConfig& config, std::uint32_t job, std::uint32_t rank,
             std::uint16_t workers)
      : config_(config), job_(job), rank_(rank), packet_loops_(workers) {}

  [[nodiscard]] wire::MacAddress mac() const {
    return {2, 0, 0, 0, 1, static_cast<std::uint8_t>(rank_)};
  }
  [[nodiscard]] std::uint32_t ipv4() const { return 0x0A4D0001 + rank_; }

  std::uint16_t epoch = 0;
  std::uint8_t plane = 0;
  std::uint16_t udp_offset = 0;  // from the first of the switch's UDP ports, where it sends
  std::optional<std::uint16_t> vlan_tci;
  bool use_crc32c = false;

  [[nodiscard]] wire::Header header(wire::PacketType type) const {
    wire::Header h;
    h.type = type;
    h.job = job_;
    h.epoch = epoch;
    h.origin = rank_;
    h.child = static_cast<std::uint16_t>(rank_);
    h.fan_in = packet_loops_;
    h.plane = plane;
    return h;
  }
  [[nodiscard]] Bytes join(std::uint64_t nonce) const {
    std::array<std::byte, 64> buffer;
    wire::ExtensionWriter extensions(buffer);
    extensions.add_nonce(nonce);
    return frame(header(wire::PacketType::join), extensions.bytes(), {});
  }
  [[nodiscard]] Bytes contribution(std::uint32_t seq, std::span<const std::int32_t> values) const {
    wire::Header h = header(wire::PacketType::contribution);
    h.flags = wire::kFlagLast;
    h.op = seq;
    h.seq = seq;
    h.covered = 1;
    h.dtype = wire::DType::int32;
    h.element_count = static_cast<std::uint16_t>(values.size());
    return frame(h, {}, std::as_bytes(values));
  }

  [[nodiscard]] Bytes frame(const wire::Header& h, std::span<const std::byte> extensions,
                            std::span<const std::byte> payload) const {
    std::array<std::byte, 256> area{};
    std::copy(extensions.begin(), extensions.end(), area.begin());
    std::size_t used = extensions.size();
    if (use_crc32c) {
      const std::span room(area);
      wire::ExtensionWriter crc(room.subspan(used));
      crc.add_crc32c_placeholder();
      used += crc.bytes().size();
    }
    wire::FrameTemplate t;
    t.destination = config::derived_mac(config_.ipv4);
    t.source = mac();
    t.vlan_tci = vlan_tci;
    t.endpoints = {ipv4(), config_.ipv4, 6000,
                   static_cast<std::uint16_t>(config_.udp_base_port + udp_offset)};
    t.udp_checksum = !use_crc32c;
    Bytes out(4096);
    const std::size_t start = wire::frame_header_bytes(t);
    const std::size_t head =
        wire::serialize(h, std::span(area).first(used), std::span(out).subspan(start));
    if (!payload.empty()) std::memcpy(out.data() + start + head, payload.data(), payload.size());
    const std::size_t packet = head + payload.size();
    if (use_crc32c) wire::seal_crc32c(std::span(out).subspan(start, packet));
    out.resize(wire::write_frame_headers(t, out, packet));
    return out;
  }

 private:
  config::SwitchConfig config_;
  std::uint32_t job_;
  std::uint32_t rank_;
  std::uint16_t packet_loops_;
};

}  // namespace tributary::dataplane
