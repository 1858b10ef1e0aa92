// UDP at one IPv4 address over a DPDK port of its own: a parameter server may use it in place of a
// kernel socket.
//
//   frame in ─▶ ARP, ICMP echo: answered · to the own address and UDP port: checked, handed over
//   datagram ─▶ headers in front of it, in the buffer that leaves ─▶ a burst at the port
//
// Peers' hardware addresses are asked for by ARP, and again every few seconds; only they are sent
// to, and groups. What goes to one that has not answered yet is lost, and counted. Untagged frames
// only. Where fragments are taken, what comes in fragments is put together first, and what exceeds
// the port's MTU leaves as such; else both are dropped.
//
// One thread, which need not be DPDK's own; other threads read counters.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "config/model/switch_config.h"
#include "core/counter.h"
#include "core/datagram_link.h"
#include "dataplane/frame/fragmenter.h"
#include "dataplane/frame/frame_pool.h"
#include "dataplane/frame/local_host.h"
#include "dataplane/io/idle.h"
#include "dataplane/port/port.h"
#include "dataplane/udp/datagrams.h"

struct rte_mbuf;

namespace tributary::dataplane {

struct UdpPortSettings {
  UdpAddress own;
  wire::MacAddress mac{};
  std::vector<std::uint32_t> peers;  // IPv4 addresses, each once
  std::size_t datagram_bytes = 0;    // the largest that is sent
  Duration idle_sleep_max;
  config::FragmentsConfig fragments;  // of no datagrams: none are taken, and none are made
  std::uint64_t seed = 1;             // not to be foreseen by who sends fragments
};

class UdpPort final : public DatagramLink {
 public:
  // How often a peer is asked for its address: until it answers, and afterwards.
  static constexpr Duration kAsk = Duration::ms(50);
  static constexpr Duration kAskAgain = Duration::seconds(5);
  // How soon a memif whose switch is gone is tried again; and one whose connection does not come
  // up.
  static constexpr Duration kConnectAgain = Duration::ms(200);
  static constexpr Duration kConnectLimit = Duration::seconds(10);
  // Frames that wait for a port that takes no more.
  static constexpr std::size_t kBacklog = 512;

  UdpPort(UdpPortSettings settings, std::unique_ptr<FramePool> pool, std::unique_ptr<Port> port);
  // Gives the last frames a moment to leave the port's rings.
  ~UdpPort() override;

  // A port is polled: it sleeps for the moment that the idle policy allows.
  void wait(Duration limit) override;
  void wake() override {}
  std::size_t receive(const Receiver& receiver, Instant now) override;
  std::span<std::byte> room() override;
  void queue(std::size_t bytes, const UdpAddress& to) override;
  void flush() override;

  struct Counters {
    Counter rx_packets;
    Counter rx_bytes;
    Counter tx_packets;
    Counter tx_bytes;
    Counter unresolved;   // datagrams to a peer whose hardware address is not known
    Counter peer_faults;  // a peer took its memory away
    Counter reassembled;  // datagrams put together from fragments
    Counter fragmented;   // datagrams that left as fragments
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const Port& port() const { return *port_; }

 private:
  struct Peer {
    std::uint32_t ipv4 = 0;
    std::optional<wire::MacAddress> mac;
    Instant ask_at;
  };

  void look(Instant now);  // at the link, and at peers to ask for
  void connect(Instant now);
  void ask(std::uint32_t peer);
  // Takes the frame over.
  void handle(rte_mbuf* frame, const Receiver& receiver, Instant now);
  // The same of one to this node, whole.
  void handle_own(rte_mbuf* frame, const wire::EthernetView& view, const Receiver& receiver);
  // True for a fragment of a datagram to this node, with a valid header.
  bool is_own_fragment(const wire::EthernetView& view, wire::Fragment4View& fragment) const;
  // Takes the frame over; nullptr: others of its datagram are to come.
  rte_mbuf* put_together(rte_mbuf* frame, const wire::EthernetView& view,
                         const wire::Fragment4View& fragment, Instant now);
  void learn(const wire::EthernetView& view);
  void hand_over(const wire::EthernetView& view, const Receiver& receiver);
  [[nodiscard]] std::optional<wire::MacAddress> mac_of(std::uint32_t ipv4) const;
  void send(rte_mbuf* frame);
  void send_pieces(rte_mbuf* frame);
  void drop(rte_mbuf* frame, DropReason reason);

  UdpPortSettings settings_;
  Identity identity_;
  std::unique_ptr<FramePool> pool_;
  std::unique_ptr<Port> port_;
  std::vector<Peer> peers_;
  std::unique_ptr<Datagrams> datagrams_;  // while fragments are taken
  std::optional<Fragmenter> fragmenter_;
  IdlePolicy idle_;
  Duration pause_;
  Instant look_at_;
  std::optional<Instant> connect_at_;  // while the link is down
  rte_mbuf* filling_ = nullptr;        // what room() gave
  std::vector<std::byte> no_room_;     // what it gives when there are no buffers
  std::vector<rte_mbuf*> waiting_;
  bool moves_ = true;  // the port took something at the last flush
  Counters counters_;
};

}  // namespace tributary::dataplane
