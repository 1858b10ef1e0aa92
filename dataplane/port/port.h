// A switch port: one DPDK ethdev with as many pairs of queues as the configuration says.
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
#include "dataplane/port/kernel_interface.h"
#include "dataplane/port/packet_sockets.h"
#include "dataplane/port/steering.h"
#include "dataplane/port/vhost_peer.h"

struct rte_mempool;

namespace tributary::dataplane {

// What a device, its driver or the kernel in front of it lost, and no packet loop saw. Since the
// port is there, whatever devices it had. The link monitor writes.
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
  // What is at a place where no port is: its link is down.
  static Port& none();
  // The same where a port is, and no device: that is being opened again, or could not be.
  static std::unique_ptr<Port> closed(const config::PortConfig& config);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // Sets up the queues, each with the pool that its receive queue fills buffers of, and its rings
  // on that pool's socket; and starts the device. Once. Throws std::runtime_error like the
  // constructor; what is left is to be destroyed.
  void set_up(std::span<rte_mempool* const> pools);

  [[nodiscard]] const config::PortConfig& config() const { return config_; }
  [[nodiscard]] const std::string& name() const { return config_.name; }
  // Loops know ports by places; who reads names holds the configuration, or is the link monitor.
  void rename(const std::string& name) { config_.name = name; }
  // Of one whose device need not know. Loops have their own.
  void set_mtu(std::uint32_t mtu) { config_.mtu = mtu; }
  // Before anybody uses it: what is known of `before` and behind it holds for this one, too; or it
  // counts as lost.
  void succeed(const Port& before, bool same_peers);
  // False: see closed() and none().
  [[nodiscard]] bool is_device() const { return is_device_; }
  // Of a closed port: the device could not be opened; what is known behind it is lost.
  void stay_down(const std::string& why);
  // Of such a one, or what a device lacks that is there; for who holds the configuration. Empty:
  // nothing is wrong.
  [[nodiscard]] const std::string& why() const { return why_; }
  [[nodiscard]] const Devargs& devargs() const { return devargs_; }
  [[nodiscard]] std::uint16_t ethdev() const { return ethdev_; }
  // Where the device is; config::kAnySocket: it is software, or the machine does not say.
  [[nodiscard]] int socket() const { return socket_; }
  // What the configuration wants and the device has not; empty: nothing. Virtual devices misreport
  // their MTU, and only cards are held to it.
  [[nodiscard]] std::string lacks(const config::PortConfig& wanted) const;
  // The driver sends chained buffers.
  [[nodiscard]] bool sends_segments() const { return sends_segments_; }
  // The device checks UDP checksums: a frame that it marks as good needs no second look. Hardware
  // alone; what software would do for us costs the same there, and what a guest says of its own
  // frames nobody has checked.
  [[nodiscard]] bool checks_udp() const { return checks_udp_; }
  // The peer owns memory that bursts touch; see fault_guard.h.
  [[nodiscard]] bool shares_memory() const { return shares_memory_; }
  // Of such a one: its bursts hold locks, and have to end.
  [[nodiscard]] bool locks() const { return vhost_ != nullptr; }

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
  // Any thread. What the kernel's interface takes, as poll_link() found it; 0: no limit is known.
  [[nodiscard]] std::uint32_t interface_mtu() const {
    return interface_mtu_.load(std::memory_order_relaxed);
  }
  // Link monitor only: asks the driver and the kernel what they lost.
  void poll_losses();
  [[nodiscard]] const DeviceLosses& losses() const { return losses_; }
  // Any loop: the peer took away memory that a burst touched. The link is down from now on, so
  // nobody polls the port or sends there, until another peer comes.
  void lose_peer();
  // A loop said so: the link is down until disconnect_peer().
  [[nodiscard]] bool lost_peer() const { return lost_peer_.load(std::memory_order_acquire); }
  // Link monitor only, until the peer is not lost any more: ends that connection, if the peer has
  // not gone by itself. A server takes the next one; a client is to connect_again().
  void disconnect_peer();
  // A memif client's driver connects when it is started, and never again by itself. To be called
  // where the port is polled, and never while a connection may yet come up: a switch's DPDK ends
  // with a client that goes before it is greeted. True: a connection begins, and the link will be
  // up. Of other ports nothing comes of it.
  bool connect_again();
  // Of a memif client: the server was there when this was made.
  [[nodiscard]] bool connecting() const { return connecting_; }

 private:
  Port() : is_device_(false) {}
  void create(PortUse use);
  void open_interface();
  void probe();
  void look();
  void look_or_close();
  void take_all_frames();
  void set_up_queues(std::span<rte_mempool* const> pools);
  [[nodiscard]] bool connects() const;
  void close();
  [[nodiscard]] bool driver_link_up() const;
  [[nodiscard]] bool look_at_interface();
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
  std::unique_ptr<VhostPeer> vhost_;  // of net_vhost
  std::atomic<bool> link_up_{false};
  std::atomic<std::uint32_t> link_losses_{0};
  std::atomic<bool> lost_peer_{false};        // set by loops, cleared by disconnect_peer()
  std::optional<KernelInterface> interface_;  // that the device opens
  PacketSockets packet_sockets_;              // of net_af_packet
  std::atomic<bool> replaced_{false};
  std::atomic<bool> guarded_{false};  // set by loops, cleared by poll_link()
  std::atomic<std::uint32_t> interface_mtu_{0};
  DeviceLosses losses_;
  DeviceLosses lost_before_;  // by the devices before this one
};

}  // namespace tributary::dataplane
