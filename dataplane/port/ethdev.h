// The DPDK ethdev of a port: made from the port's devargs, or taken over.
//
//   constructed: the device is there, and says where it is and what it can ──set_up()──▶ started
//
// Also what DPDK has no part in: the kernel's interface under the device and what its driver leaves
// behind there. Constructed, set up and destroyed by the thread that opens the port; the link
// monitor calls is_running(), losses() and the calls about peers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "config/model/switch_config.h"
#include "core/counter.h"
#include "dataplane/frame/devargs.h"
#include "dataplane/frame/own_pool.h"
#include "dataplane/host/xdp_umems.h"
#include "dataplane/port/kernel_interface.h"
#include "dataplane/port/packet_sockets.h"
#include "dataplane/port/port_link.h"
#include "dataplane/port/steering.h"
#include "dataplane/port/vhost_peer.h"

struct rte_mempool;

namespace tributary::dataplane {

// Frames that a device, its driver or the kernel in front of it lost before a packet loop saw them.
struct DeviceLosses {
  Counter missed;      // received, and no room in the device's or the socket's ring
  Counter rx_errors;   // refused by the device
  Counter no_buffers;  // received, and no packet buffer for it
  Counter tx_errors;   // taken from the switch, and not sent
};

class Ethdev {
 public:
  // Both refer to `port` and `devargs`, and throw std::runtime_error that names the port, what
  // failed and what to try.
  Ethdev(const config::PortConfig& port, const Devargs& devargs);
  // An ethdev that is there. `checks_udp`: who fills it marks frames as hardware would.
  Ethdev(const config::PortConfig& port, const Devargs& devargs, std::uint16_t id, bool checks_udp);
  ~Ethdev();
  Ethdev(const Ethdev&) = delete;
  Ethdev& operator=(const Ethdev&) = delete;

  // True if there is a device of that name, and a port has it.
  static bool is_taken(const Devargs& device);

  // See Port::set_up(). Returns what the device lacks, though it is started; empty: nothing.
  // `steering` begins with it.
  std::string set_up(std::span<rte_mempool* const> pools, std::size_t own_buffers,
                     Steering& steering);

  [[nodiscard]] std::uint16_t id() const { return id_; }
  // These are Port's, and said there.
  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] bool sends_segments() const { return sends_segments_; }
  [[nodiscard]] bool checks_udp() const { return checks_udp_; }
  [[nodiscard]] bool shares_memory() const { return devargs_.kind->shares_memory; }
  [[nodiscard]] bool locks() const { return vhost_ != nullptr; }
  [[nodiscard]] const OwnPool* own_pool() const { return own_pool_.get(); }
  [[nodiscard]] std::string lacks(const config::PortConfig& wanted) const;
  [[nodiscard]] bool is_replaced() const { return replaced_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint32_t interface_mtu() const {
    return interface_mtu_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool connecting() const { return connecting_; }
  bool connect_again();

  // The driver's link is up, and so is the interface, which is still the one that was opened.
  [[nodiscard]] bool is_running();
  // Since it was made.
  [[nodiscard]] DeviceLosses losses();
  // Any loop, before the link is taken down.
  void mark_peer_lost();
  void disconnect_peer(PortLink& link);

 private:
  void create();
  void open_interface();
  void probe();
  void look();
  void look_or_close();
  void set_up_queues(std::span<rte_mempool* const> pools);
  void make_own_pool(std::size_t buffers, int socket);
  [[nodiscard]] std::string take_all_frames();
  void end_transmission();
  void close();
  // A memif client.
  [[nodiscard]] bool connects() const;
  [[nodiscard]] bool link_up() const;
  [[nodiscard]] bool has_moved_away() const;
  [[nodiscard]] bool look_at_interface();
  [[noreturn]] void fail(const std::string& what, int error) const;

  const config::PortConfig& port_;
  const Devargs& devargs_;
  std::uint16_t id_ = 0;
  int socket_ = -1;
  std::uint16_t most_queues_ = 0;
  std::uint32_t most_mtu_ = 0xFFFF;
  bool created_ = false;  // by this object, so it also removes the device
  bool sends_segments_ = false;
  bool checks_udp_ = false;
  bool connecting_ = false;
  std::unique_ptr<VhostPeer> vhost_;          // of net_vhost
  std::optional<KernelInterface> interface_;  // that the device opens
  PacketSockets packet_sockets_;              // of net_af_packet
  XdpUmems umems_;                            // of net_af_xdp
  std::unique_ptr<OwnPool> own_pool_;
  std::atomic<bool> replaced_{false};
  std::atomic<std::uint32_t> interface_mtu_{0};
};

}  // namespace tributary::dataplane
