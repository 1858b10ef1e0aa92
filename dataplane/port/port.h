// A switch port: one DPDK ethdev (dataplane/port/ethdev.h) with as many pairs of queues as the
// configuration says; or, for a memif server, no device of DPDK's, but
// dataplane/memif/memif_port.h.
//
//   constructed: the device is there, and says where it is and what it can ──set_up()──▶ started
//
// In between it is decided whose packet buffers its queues take (config/plan/numa_plan.h).
//
// Constructed, renamed and destroyed by the thread that starts the switch, or that changes its
// configuration. The bursts of a queue belong to one lcore.
// The link monitor calls poll_link().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "config/model/switch_config.h"
#include "dataplane/frame/devargs.h"
#include "dataplane/frame/own_pool.h"
#include "dataplane/port/ethdev.h"
#include "dataplane/port/port_link.h"
#include "dataplane/port/steering.h"

struct rte_mempool;

namespace tributary::dataplane {

class MemifPort;

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
  [[nodiscard]] bool is_device() const { return device_ || memif_; }
  // For a closed port: the device could not be opened; what was learned behind it is forgotten.
  void stay_down(const std::string& why);
  // The reason given to stay_down(), or what an open device lacks. The reader must hold the
  // configuration. Empty: nothing is wrong.
  [[nodiscard]] const std::string& why() const { return why_; }
  [[nodiscard]] const Devargs& devargs() const { return devargs_; }
  // Not for a memif server.
  [[nodiscard]] std::uint16_t ethdev() const { return device_ ? device_->id() : std::uint16_t{0}; }
  // nullptr: the port is a device of DPDK's.
  [[nodiscard]] MemifPort* memif_server() const { return memif_.get(); }
  // Any thread. See MemifPort::unchecked().
  [[nodiscard]] bool unchecked() const;
  // Any thread. See MemifPort::reads().
  [[nodiscard]] bool reads_results(std::uint32_t region) const;
  // Where the device is; config::kAnySocket: it is software, or the machine does not say.
  [[nodiscard]] int socket() const { return device_ ? device_->socket() : config::kAnySocket; }
  // The part of a configuration that the device cannot provide; empty: none. Virtual devices
  // misreport their MTU, so only cards are checked.
  [[nodiscard]] std::string lacks(const config::PortConfig& wanted) const;
  // The driver sends chained buffers.
  [[nodiscard]] bool sends_segments() const {
    return device_ ? device_->sends_segments() : memif_ != nullptr;
  }
  // The device checks UDP checksums: a frame that it marks as good needs no second look. Hardware
  // alone: a check in software costs the same anywhere, and what a guest says of its own frames is
  // unchecked.
  [[nodiscard]] bool checks_udp() const { return device_ && device_->checks_udp(); }
  // The peer owns memory that a driver touches; see fault_guard.h.
  [[nodiscard]] bool shares_memory() const { return device_ && device_->shares_memory(); }
  // True if bursts of such a port hold locks, and so must not be cut short.
  [[nodiscard]] bool locks() const { return device_ && device_->locks(); }

  // nullptr: its buffers are those of set_up()'s pools.
  [[nodiscard]] const OwnPool* own_pool() const { return device_ ? device_->own_pool() : nullptr; }

  // To which queues packets had best come; of a port with several. Control threads.
  Steering& steering() { return steering_; }

  [[nodiscard]] const PortLink& link() const { return link_; }
  [[nodiscard]] PortLink& link() { return link_; }
  // Link monitor only: asks driver and kernel; returns the new state.
  bool poll_link();
  // Any thread. The interface that the device was opened on is gone for good, and another one has
  // its name: the port is deaf until it is opened anew.
  [[nodiscard]] bool is_replaced() const { return device_ && device_->is_replaced(); }
  // Any thread. The MTU of the kernel's interface, as poll_link() found it; 0: no limit is known.
  [[nodiscard]] std::uint32_t interface_mtu() const {
    return device_ ? device_->interface_mtu() : 0;
  }
  // Link monitor only: asks the driver and the kernel what they lost.
  void poll_losses();
  [[nodiscard]] const DeviceLosses& losses() const { return losses_; }
  // Any loop: the peer took away memory that a burst touched, or broke its protocol. The link is
  // down from now on, so no loop polls the port or sends there, until another peer comes.
  void lose_peer();
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
  [[nodiscard]] bool connecting() const { return device_ && device_->connecting(); }

 private:
  Port();
  void create_memif_server();
  void see_departures();
  [[nodiscard]] DeviceLosses device_losses();

  config::PortConfig config_;
  std::string why_;
  Devargs devargs_;
  std::optional<Ethdev> device_;        // absent: a memif server, or closed
  std::unique_ptr<MemifPort> memif_;    // of net_memif with role=server
  std::uint32_t memif_departures_ = 0;  // of its clients, counted in link_ by now
  Steering steering_;
  PortLink link_;
  DeviceLosses losses_;       // since the port was made, over all its devices; the link monitor's
  DeviceLosses lost_before_;  // by the devices before this one
};

}  // namespace tributary::dataplane
