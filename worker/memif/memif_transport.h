// Datagrams to the switch through a memif port: shared memory between this process and the
// switch's, no kernel on the path, frames up to 9,728 bytes.
//
// The worker is a plain memif client; no packet framework runs inside the application's process
// (docs/decisions/002-native-memif-client.md says why). It owns its frames: Ethernet, IPv4 and UDP
// headers, checksums and ARP are written and checked here.
//
//           connect, HELLO … CONNECTED            ARP reply
//   down ────────────────────────────▶ up ─────────────────────▶ up, switch MAC known
//    ▲                                  │
//    └── socket closed, DISCONNECT ─────┘    while down: tried again every 100 ms, send() takes
//    none
//
// The connection is shared with the other communicators of this process at the same interface
// (memif_link.h); each has addresses of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/net/arp.h"
#include "core/net/frame.h"
#include "worker/memif/memif_link.h"
#include "worker/transport/memif_address.h"
#include "worker/transport/transport.h"

namespace tributary::worker {

class MemifTransport final : public Transport {
 public:
  // Connects and learns the switch's MAC address, both within the limit. Otherwise throws
  // std::runtime_error that names the socket, at once if another try would not help.
  explicit MemifTransport(MemifAddress address, const Patience& patience = {});
  ~MemifTransport() override;

  void on_start(const wire::StartInfo& info) override;
  void on_host(std::uint16_t udp_port) override { host_udp_port_ = udp_port; }
  std::size_t send(std::span<const Datagram> batch) override;
  std::size_t receive(const Receiver& receiver) override;
  void wait(Duration limit) override;
  void wake() override { member_.wake(); }

  [[nodiscard]] std::size_t max_datagram_bytes() const override {
    return MemifRings::kMostTxBytes - wire::kUdpPayloadOffset;
  }
  [[nodiscard]] const DropCounters& drops() const override { return drops_; }
  [[nodiscard]] std::string describe() const override;
  [[nodiscard]] bool link_up() const { return link_->up(); }

 private:
  static std::int64_t now_ns();
  void connect_patiently(const Patience& patience, std::int64_t deadline_ns);
  void take_told();
  void resolve_switch(const Patience& patience, std::int64_t deadline_ns);
  void ask_for_switch_mac();
  void note_told();
  // Packets to the switch and from it have no checksum (rule 18).
  [[nodiscard]] bool goes_unchecked() const;
  // After another connection: the switch learns where this one's address is.
  void follow_connection();

  bool write_datagram(MemifRings& rings, const Datagram& datagram);
  bool handle_frame(std::span<const std::byte> frame, const Receiver& receiver);
  void handle_arp(std::span<const std::byte> packet);
  bool handle_ipv4(std::span<const std::byte> packet, const Receiver& receiver);
  // A result that the switch has written for all ranks.
  bool handle_reference(const wire::EthernetView& frame, const Receiver& receiver);

  MemifAddress address_;
  wire::MacAddress own_mac_;
  std::optional<wire::MacAddress> switch_mac_;
  std::uint16_t base_port_;
  std::uint32_t group_ipv4_ = 0;  // 0 before START
  wire::MacAddress group_mac_{};
  std::uint16_t host_udp_port_ = 0;  // of the host that notifies ranks itself
  wire::StartInfo start_;            // all zero before START

  MemifMember member_;
  std::shared_ptr<MemifLink> link_;
  std::uint32_t generation_ = 0;                  // of the connection that knows this address
  bool unchecked_ = false;                        // the switch at that connection has agreed
  std::shared_ptr<const SharedResults> results_;  // where the last one was
  std::vector<std::byte> result_;                 // a copy of it
  bool receiving_ = false;
  std::uint64_t lost_ = 0;     // frames that found the inbox full, as counted in drops_
  bool send_blocked_ = false;  // send() ran out of room
  DropCounters drops_;
};

// Parses `address` (see transport.h) for this rank and connects.
std::unique_ptr<Transport> make_memif_transport(const std::string& address, std::uint32_t job,
                                                std::uint32_t rank, const Patience& patience);

}  // namespace tributary::worker
