// A rank that reaches the switch by RDMA: packets of a TestWorker in SENDs on a UD queue pair, and
// what the switch sends to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/net/sidr.h"
#include "dataplane/rdma/ud_frame.h"
#include "tests/dataplane/test_packet_loop.h"

namespace tributary::dataplane {

inline constexpr std::uint32_t kJob = 5;
inline constexpr std::uint32_t kOther = 6;

// Port 0 and both jobs take RDMA; each job has two ranks.
inline config::SwitchConfig rdma_config(std::uint32_t window = 8) {
  auto config = test_config(3);
  config.ports[0].rdma = true;
  for (const std::uint32_t id : {kJob, kOther}) {
    config::JobConfig job;
    job.id = id;
    job.name = "job" + std::to_string(id);
    job.workers = 2;
    job.window = window;
    job.chunk_bytes = 64;
    job.rdma = true;
    config.jobs.push_back(job);
  }
  return config;
}

struct RdmaReceived {
  wire::EthernetView ethernet;
  wire::UdpEndpoints endpoints;
  wire::RoceView roce;
  wire::Packet packet;
};
// A SEND of the switch with a packet in it, checked from Ethernet to ICRC. nullopt: not one.
inline std::optional<RdmaReceived> read_send(std::span<const std::byte> frame) {
  RdmaReceived r;
  wire::Udp4View udp;
  bool is_udp = false;
  if (wire::parse_ethernet(frame, r.ethernet) != DropReason::none ||
      wire::parse_udp4(r.ethernet.payload, udp, is_udp) != DropReason::none || !is_udp ||
      udp.endpoints.destination_port != wire::kRocePort || !wire::icrc_ok(r.ethernet.payload) ||
      wire::parse_roce(udp.payload, r.roce) != DropReason::none)
    return std::nullopt;
  r.endpoints = udp.endpoints;
  if (r.roce.bth.qpn == wire::kGeneralServicesQp) return r;
  if (wire::parse(wire::packet_in_send(r.roce.payload), r.packet) != DropReason::none)
    return std::nullopt;
  return r;
}

// The frame of a TestWorker, carried by RDMA. Tests change `send` to make mistakes.
struct RdmaRank {
  static constexpr std::uint32_t kQpn = 0x11;

  RdmaRank(const TestWorker& as, std::uint32_t job) {
    send.source = as.mac();
    send.destination = config::derived_mac(0x0A4D00FE);
    send.source_ip = as.ipv4();
    send.destination_ip = 0x0A4D00FE;
    send.source_qpn = kQpn;
    send.qpn = wire::job_qpn(job);
    send.qkey = wire::kRdmaCmQkey;
  }
  [[nodiscard]] Bytes carry(std::span<const std::byte> payload) const {
    const std::size_t at = ud_payload_at(send.vlan_tci);
    Bytes out(at + payload.size() + 8);
    std::copy(payload.begin(), payload.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
    out.resize(write_ud_frame(send, payload.size(), out));
    return out;
  }
  // `frame` is one by UDP.
  [[nodiscard]] Bytes by_rdma(const Bytes& frame) const {
    return carry(with_lead(read_packet(frame)->udp.payload));
  }

  static Bytes with_lead(std::span<const std::byte> packet) {
    Bytes out(wire::kRoceLeadBytes);
    out.insert(out.end(), packet.begin(), packet.end());
    return out;
  }

  UdSend send;
};

}  // namespace tributary::dataplane
