// A switch port: one DPDK ethdev with as many pairs of queues as the configuration says; or, for a
// memif server, no device of DPDK's, but dataplane/memif/memif_port.h.
//
//   constructed: the device is there, and says where it is and what it can ──set_up()──▶ started
//
// In between it is decided whose packet buffers its queues take (config/plan/numa_plan.h).
//
// Constructed, renamed and destroyed by the thread that starts the switch, or that changes its
// configuration. The bursts of a queue belong to one lcore.
// The link monitor calls poll_link().
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
#include "dataplane/port/steering.h"
#include "dataplane/port/vhost_peer.h"

struct rte_mempool;

namespace tributary::dataplane {

class MemifPort;

// Frames that a device, its driver or the kernel in front of it lost before a packet loop saw them,
// since the port was made, over all its devices. Written by the link monitor.
struct DeviceLosses {
  Counter missed;      // received, and no room in the device's or the socket's ring
  Counter rx_errors;   // refused by the device
  Counter no_buffers;  // received, and no packet buffer for it
  Counter tx_errors;   // taken from the switch, and not sent
};

class Port {
 public:
  // Creates the device from its devargs. Throws std::runtime_error that names the port, what
  // failed and what to try; also when a device of that name is there already, which stays as it is.
  explicit Port(const config::PortConfig& config, PortUse use = PortUse::forwarding);
  // Takes over an existing ethdev; used where the device is not made from devargs. `checks_udp`:
  // who fills it marks frames as hardware would.
  Port(const config::PortConfig& config, std::uint16_t ethdev, bool checks_udp = false);
  // The stand-in for a place without a port: its link is down.
  static Port& none();
  // The stand-in for a port without a device, which is being opened again or could not be opened.
  static std::unique_ptr<Port> closed(const config::PortConfig& config);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Sets up the queues, each with the pool that its receive queue fills buffers of, and its rings
  // on that pool's socket; and starts the device. Once. Throws std::runtime_error like the
  // constructor; what is left is to be destroyed.
  // `own_buffers`: in place of these pools, one of its own with so many buffers of a page; 0: none.
  void set_up(std::span<rte_mempool* const> pools, std::size_t own_buffers = 0);

  [[nodiscard]] const config::PortConfig& config() const { return config_; }
  [[nodiscard]] const std::string& name() const { return config_.name; }
  // Loops know ports by places; only the link monitor and holders of the configuration read names.
  void rename(const std::string& name) { config_.name = name; }
  // For a port whose device need not know the MTU. Loops have their own copy.
  void set_mtu(std::uint32_t mtu) { config_.mtu = mtu; }
  // To be called before the port is used. Takes over losses from `before`. Without `same_peers`,
  // one more lost link is counted, so that what was learned behind `before` is forgotten.
  void succeed(const Port& before, bool same_peers);
  // False: see closed() and none().
  [[nodiscard]] bool is_device() const { return is_device_; }
  // For a closed port: the device could not be opened; what was learned behind it is forgotten.
  void stay_down(const std::string& why);
  // The reason given to stay_down(), or what an open device lacks. The reader must hold the
  // configuration. Empty: nothing is wrong.
  [[nodiscard]] const std::string& why() const { return why_; }
  [[nodiscard]] const Devargs& devargs() const { return devargs_; }
  // Not for a memif server.
  [[nodiscard]] std::uint16_t ethdev() const { return ethdev_; }
  // nullptr: the port is a device of DPDK's.
  [[nodiscard]] MemifPort* memif_server() const { return memif_.get(); }
  // Any thread. See MemifPort::unchecked().
  [[nodiscard]] bool unchecked() const;
  // Any thread. See MemifPort::reads().
  [[nodiscard]] bool reads_results(std::uint32_t region) const;
  // Where the device is; config::kAnySocket: it is software, or the machine does not say.
  [[nodiscard]] int socket() const { return socket_; }
  // The part of a configuration that the device cannot provide; empty: none. Virtual devices
  // misreport their MTU, so only cards are checked.
  [[nodiscard]] std::string lacks(const config::PortConfig& wanted) const;
  // The driver sends chained buffers.
  [[nodiscard]] bool sends_segments() const { return sends_segments_; }
  // The device checks UDP checksums: a frame that it marks as good needs no second look. Hardware
  // alone: a check in software costs the same anywhere, and what a guest says of its own frames is
  // unchecked.
  [[nodiscard]] bool checks_udp() const { return checks_udp_; }
  // The peer owns memory that a driver touches; see fault_guard.h.
  [[nodiscard]] bool shares_memory() const { return shares_memory_; }
  // True if bursts of such a port hold locks, and so must not be cut short.
  [[nodiscard]] bool locks() const { return vhost_ != nullptr; }

  // nullptr: its buffers are those of set_up()'s pools.
  [[nodiscard]] const OwnPool* own_pool() const { return own_pool_.get(); }

  // To which queues packets had best come; of a port with several. Control threads.
  Steering& steering() { return steering_; }

  // Any thread. False: frames for this port are dropped.
  [[nodiscard]] bool link_up() const { return link_up_.load(std::memory_order_relaxed); }
  // Any thread. How often it went down.
  [[nodiscard]] std::uint32_t link_losses() const {
    return link_losses_.load(std::memory_order_relaxed);
  }
  // Link monitor only: asks driver and kernel; returns the new state.
  bool poll_link();
  // Any thread. The interface that the device was opened on is gone for good, and another one has
  // its name: the port is deaf until it is opened anew.
  [[nodiscard]] bool is_replaced() const { return replaced_.load(std::memory_order_relaxed); }
  // Any loop: the port heard a spanning tree's message that it must not. Its link is down, and what
  // it receives is dropped, until the link is lost or the port is opened again.
  void guard();
  [[nodiscard]] bool is_guarded() const { return guarded_.load(std::memory_order_relaxed); }
  // Any thread. The MTU of the kernel's interface, as poll_link() found it; 0: no limit is known.
  [[nodiscard]] std::uint32_t interface_mtu() const {
    return interface_mtu_.load(std::memory_order_relaxed);
  }
  // Link monitor only: asks the driver and the kernel what they lost.
  void poll_losses();
  [[nodiscard]] const DeviceLosses& losses() const { return losses_; }
  // Any loop: the peer took away memory that a burst touched, or broke its protocol. The link is
  // down from now on, so no loop polls the port or sends there, until another peer comes.
  void lose_peer();
  // A loop said so: the link is down until disconnect_peer().
  [[nodiscard]] bool lost_peer() const { return lost_peer_.load(std::memory_order_acquire); }
  // The deed of such a peer, in words for a log.
  [[nodiscard]] const char* loss_text() const;
  // Link monitor only. A peer that was turned away since the last call, in words.
  std::optional<std::string> take_refusal();
  // Link monitor only, until the peer is not lost any more: ends that connection, if the peer has
  // not gone by itself. A server takes the next one; a client is to connect_again().
  void disconnect_peer();
  // A memif client's driver connects when it is started, and never again by itself. Call it where
  // the port is polled, and never while a connection may yet come up: a server on DPDK's driver
  // crashes when a client goes before it is greeted. Returns true if a connection begins, and the
  // link will come up; false, and does nothing, for other ports.
  bool connect_again();
  // Memif client: the server was there when the device was last started by set_up().
  [[nodiscard]] bool connecting() const { return connecting_; }

 private:
  Port();
  void create(PortUse use);
  void create_memif_server();
  void create_device();
  void open_interface();
  void probe();
  void look();
  void look_or_close();
  void take_all_frames();
  void set_up_device(std::span<rte_mempool* const> pools, std::size_t own_buffers);
  void set_up_queues(std::span<rte_mempool* const> pools);
  void make_own_pool(std::size_t buffers, int socket);
  void end_transmission();
  [[nodiscard]] bool connects() const;
  void close();
  void close_device();
  [[nodiscard]] bool driver_link_up() const;
  [[nodiscard]] bool has_moved_away() const;
  [[nodiscard]] bool look_at_interface();
  void see_departures();
  [[noreturn]] void fail(const std::string& what, int error) const;
  // The same for what the configuration says, and the device has not.
  [[noreturn]] void refuse(const std::string& what) const;

  [[nodiscard]] DeviceLosses device_losses();

  config::PortConfig config_;
  std::string why_;
  Devargs devargs_;
  std::uint16_t ethdev_ = 0;
  int socket_ = -1;
  std::uint16_t most_queues_ = 0;
  std::uint32_t most_mtu_ = 0xFFFF;
  bool is_device_ = true;
  bool created_ = false;  // by this object, so it also removes the device
  bool sends_segments_ = false;
  bool checks_udp_ = false;
  bool shares_memory_ = false;
  bool connecting_ = false;
  Steering steering_;
  std::unique_ptr<VhostPeer> vhost_;    // of net_vhost
  std::unique_ptr<MemifPort> memif_;    // of net_memif with role=server
  std::uint32_t memif_departures_ = 0;  // of its clients, counted in link_losses_ by now
  std::atomic<bool> link_up_{false};
  std::atomic<std::uint32_t> link_losses_{0};
  std::atomic<bool> lost_peer_{false};        // set by loops, cleared by disconnect_peer()
  std::optional<KernelInterface> interface_;  // that the device opens
  PacketSockets packet_sockets_;              // of net_af_packet
  std::unique_ptr<OwnPool> own_pool_;
  XdpUmems umems_;  // of net_af_xdp
  std::atomic<bool> replaced_{false};
  std::atomic<bool> guarded_{false};  // set by loops, cleared by poll_link()
  std::atomic<std::uint32_t> interface_mtu_{0};
  DeviceLosses losses_;
  DeviceLosses lost_before_;  // by the devices before this one
};

}  // namespace tributary::dataplane
