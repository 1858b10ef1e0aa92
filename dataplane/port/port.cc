#include "dataplane/port/port.h"

#include <net/if.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "config/plan/device_claims.h"
#include "core/invariant.h"
#include "dataplane/frame/frame_pool.h"
#include "dataplane/host/interrupt_thread.h"
#include "dataplane/host/stale_socket.h"
#include "dataplane/memif/memif_port.h"
#include "dataplane/memif/memif_settings.h"

namespace tributary::dataplane {
namespace {

// The usual cause when a device of this kind cannot be created.
std::string hint_for(const Devargs& args) {
  std::string text(args.kind->hint);
  if (text.empty()) return "check the driver's name and arguments";
  const std::string named =
      args.kind->memif ? memif_socket(args) : std::string(args.get("iface").value_or(""));
  if (const auto at = text.find("{}"); at != std::string::npos) text.replace(at, 2, named);
  return text;
}

// Asks the device to keep a flow in one queue, by the finest hash it has. Which lcore owns a packet
// is said by its job, and no device looks that far: this spreads the work of receiving.
void spread(const rte_eth_dev_info& info, rte_eth_conf& conf) {
  const std::uint64_t hash =
      info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP);
  if (hash == 0) return;
  conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
  conf.rx_adv_conf.rss_conf.rss_hf = hash;
}

// A packet socket hears every interface there is until it is bound to its own, which this driver
// does last: what its ring has now may be other ports' frames, and their senders are not here.
void forget_what_others_sent(const Devargs& args, std::uint16_t ethdev, std::uint16_t queues) {
  const std::size_t room = args.number("framecnt", 512) + kBurst;
  for (std::uint16_t queue = 0; queue < queues; ++queue) {
    std::array<rte_mbuf*, kBurst> burst;
    for (std::size_t seen = 0; seen < room;) {
      const std::uint16_t count = rte_eth_rx_burst(ethdev, queue, burst.data(), kBurst);
      if (count == 0) break;
      rte_pktmbuf_free_bulk(burst.data(), count);
      seen += count;
    }
  }
}

// The devices that ports have, from create() to close(). Not DPDK's owners of devices: one that has
// an owner is left out wherever DPDK lists what there is, in its telemetry for one.
std::array<std::atomic<bool>, RTE_MAX_ETHPORTS> g_taken{};

// DPDK itself creates the network cards that it was told of as it starts: no port has them yet.
bool is_taken(const Devargs& device, std::uint16_t ethdev) {
  return !device.pci() || g_taken[ethdev].load();
}

}  // namespace

void Port::fail(const std::string& what, int error) const {
  throw std::runtime_error("port " + config_.name + " (" + config_.devargs + "): " + what + ": " +
                           std::strerror(std::abs(error)) + "; " + hint_for(devargs_));
}

void Port::refuse(const std::string& what) const {
  throw std::runtime_error("port " + config_.name + " (" + config_.devargs + "): " + what);
}

Port::Port() : is_device_(false) {}

Port::Port(const config::PortConfig& config, PortUse use)
    : config_(config), devargs_(parse_devargs(config.devargs)) {
  create(use);
  look_or_close();
}

Port::Port(const config::PortConfig& config, std::uint16_t ethdev, bool checks_udp)
    : config_(config),
      devargs_(parse_devargs(config.devargs)),
      ethdev_(ethdev),
      checks_udp_(checks_udp) {
  look_or_close();
}

void Port::create(PortUse use) {
  if (const std::string wrong = check_devargs(config_, use); !wrong.empty()) refuse(wrong);
  // DPDK would be content with it, and it is another port's.
  std::uint16_t id = 0;
  const bool there = rte_eth_dev_get_port_by_name(devargs_.device.c_str(), &id) == 0;
  if (there && is_taken(devargs_, id))
    refuse("there is a device of that name already; give this one another");
  if (const auto socket = config::served_socket(devargs_)) remove_stale_socket(*socket);
  if (serves_memif(devargs_)) return create_memif_server();
  open_interface();
  create_device();
}

void Port::create_memif_server() {
  try {
    memif_ = std::make_unique<MemifPort>(devargs_);
  } catch (const std::invalid_argument& wrong) {
    refuse(wrong.what());
  } catch (const std::system_error& error) {
    fail("the socket cannot be created", error.code().value());
  }
}

void Port::create_device() {
  std::uint16_t id = 0;
  if (rte_eth_dev_get_port_by_name(devargs_.device.c_str(), &id) != 0) probe();
  created_ = true;

  bool found = false;
  rte_dev_iterator iterator;
  RTE_ETH_FOREACH_MATCHING_DEV(id, config_.devargs.c_str(), &iterator) {
    ethdev_ = id;
    found = true;
    rte_eth_iterator_cleanup(&iterator);
    break;
  }
  if (!found) fail("the device has no Ethernet port", ENODEV);
  g_taken[ethdev_].store(true);
}

// Before the driver, which does not say what the system told it.
void Port::open_interface() {
  if (devargs_.kind->binding != config::Binding::opens || devargs_.interface().empty()) return;
  try {
    interface_.emplace(devargs_.interface());
  } catch (const std::runtime_error& error) {
    refuse(error.what());
  }
}

void Port::probe() {
  const PacketSockets::Collecting collecting(packet_sockets_, devargs_.number("qpairs", 1));
  const int error = rte_dev_probe(config_.devargs.c_str());
  if (error == 0) return;
  if (!collecting.refused().empty())
    refuse("the device cannot be created: " + collecting.refused() +
           (!interface_ || interface_->look().running
                ? ""
                : "; the interface is down (ip link set " + interface_->name() + " up)"));
  fail("the device cannot be created", error);
}

void Port::look_or_close() {
  try {
    look();
  } catch (...) {
    close();
    throw;
  }
}

// Asks the device for its limits, and checks the configuration against them.
void Port::look() {
  if (memif_) {
    most_queues_ = config::kMaxQueues;
    sends_segments_ = true;
    return;
  }
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(ethdev_, &info); error != 0)
    fail("no device information", error);
  // For a device in software, DPDK knows only which thread made it.
  if (devargs_.pci()) socket_ = rte_eth_dev_socket_id(ethdev_);
  sends_segments_ = (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
  if (devargs_.kind->vhost)
    vhost_ = std::make_unique<VhostPeer>(ethdev_, std::string(devargs_.get("iface").value_or("")));
  shares_memory_ = devargs_.kind->shares_memory;
  if (devargs_.pci() && (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) != 0)
    checks_udp_ = true;
  most_queues_ = std::min(info.max_rx_queues, info.max_tx_queues);
  if (devargs_.pci()) most_mtu_ = info.max_mtu;
  if (const std::string wrong = lacks(config_); !wrong.empty()) refuse(wrong);
}

std::string Port::lacks(const config::PortConfig& wanted) const {
  if (wanted.queues > most_queues_)
    return "queues: " + std::to_string(wanted.queues) + " pairs; the device has " +
           std::to_string(most_queues_);
  if (wanted.mtu > most_mtu_)
    return "mtu: " + std::to_string(wanted.mtu) + "; the device takes up to " +
           std::to_string(most_mtu_);
  return {};
}

void Port::set_up(std::span<rte_mempool* const> pools, std::size_t own_buffers) {
  TRIBUTARY_INVARIANT(pools.size() == config_.queues);
  if (!memif_) return set_up_device(pools, own_buffers);
  try {
    memif_->open(pools);
  } catch (const std::system_error& error) {
    fail("the socket takes no clients", error.code().value());
  }
  poll_link();
}

void Port::set_up_device(std::span<rte_mempool* const> pools, std::size_t own_buffers) {
  std::vector<rte_mempool*> own;
  if (own_buffers != 0 && !pools.empty()) {
    make_own_pool(own_buffers, pools.front()->socket_id);
    own.assign(pools.size(), own_pool_->pool().get());
    pools = own;
  }
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(ethdev_, &info); error != 0)
    fail("no device information", error);
  rte_eth_conf conf{};
  // No MBUF_FAST_FREE: frames are multicast by reference count, and come from several pools.
  if (sends_segments_) conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  // Virtual drivers misreport their limits and the MTU is enforced here, both ways; hardware has to
  // be told.
  if (devargs_.pci()) conf.rxmode.mtu = config_.mtu;
  if (devargs_.pci() && checks_udp_) conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
  if (config_.queues > 1) spread(info, conf);
  if (const int error = rte_eth_dev_configure(ethdev_, config_.queues, config_.queues, &conf);
      error != 0)
    fail("the device refuses its configuration", error);
  set_up_queues(pools);
  // A memif client does not start while its server is not there: not an error.
  const int error = rte_eth_dev_start(ethdev_);
  if (error != 0 && !connects()) fail("the device does not start", error);
  connecting_ = connects() && error == 0;
  if (own_pool_) own_pool_->note_kept();
  if (config_.queues > 1)
    steering_.begin(ethdev_, conf.rx_adv_conf.rss_conf.rss_hf, info.flow_type_rss_offloads);
  take_all_frames();
  if (devargs_.kind->hears_others_first) forget_what_others_sent(devargs_, ethdev_, config_.queues);
  poll_link();
}

// A switch takes frames for others. Drivers without a filter say "not supported"; a card that has
// one, and refuses, takes nothing that is not for its own address.
void Port::take_all_frames() {
  if (interface_) try {
      return interface_->take_all_frames();
    } catch (const std::runtime_error& refused) {
      why_ = refused.what();
      return;
    }
  const int error = rte_eth_promiscuous_enable(ethdev_);
  if (error != 0 && devargs_.pci())
    why_ = std::string("takes only frames to its own address, promiscuous mode is refused: ") +
           std::strerror(std::abs(error));
}

void Port::make_own_pool(std::size_t buffers, int socket) {
  OwnPool::sweep();
  try {
    own_pool_ = std::make_unique<OwnPool>(size_own_pool(buffers), socket);
  } catch (const std::runtime_error& error) {
    refuse(std::string("its own packet buffers: ") + error.what());
  }
}

void Port::set_up_queues(std::span<rte_mempool* const> pools) {
  const XdpUmems::Collecting collecting(umems_);
  std::uint16_t rx = kDescriptors;
  std::uint16_t tx = kDescriptors;
  rte_eth_dev_adjust_nb_rx_tx_desc(ethdev_, &rx, &tx);
  for (std::uint16_t queue = 0; queue < config_.queues; ++queue) {
    rte_mempool* const pool = pools[queue];
    const auto socket = static_cast<unsigned>(pool->socket_id);
    if (const int error = rte_eth_rx_queue_setup(ethdev_, queue, rx, socket, nullptr, pool);
        error != 0)
      fail("no receive queue", error);
    if (const int error = rte_eth_tx_queue_setup(ethdev_, queue, tx, socket, nullptr); error != 0)
      fail("no transmit queue", error);
  }
}

Port::~Port() {
  if (is_device_) close();
}

Port& Port::none() {
  static Port nowhere;
  return nowhere;
}

std::unique_ptr<Port> Port::closed(const config::PortConfig& config) {
  auto port = std::unique_ptr<Port>(new Port());
  port->config_ = config;
  port->devargs_ = parse_devargs(config.devargs);
  return port;
}

void Port::succeed(const Port& before, bool same_peers) {
  link_losses_.store(before.link_losses() + (same_peers ? 0 : 1), std::memory_order_relaxed);
  lost_before_ = before.losses();
  losses_ = lost_before_;
}

void Port::stay_down(const std::string& why) {
  why_ = why;
  link_losses_.fetch_add(1, std::memory_order_relaxed);
}

void Port::close() {
  memif_ ? memif_.reset() : close_device();
}

void Port::close_device() {
  steering_.end();
  vhost_.reset();
  g_taken[ethdev_].store(false);
  rte_eth_dev_info info;
  rte_device* device = rte_eth_dev_info_get(ethdev_, &info) == 0 ? info.device : nullptr;
  packet_sockets_.release();
  if (own_pool_ && own_pool_->has_begun()) end_transmission();
  const XdpUmems::Collecting collecting(umems_);
  const auto end = [this] {
    rte_eth_dev_stop(ethdev_);
    rte_eth_dev_close(ethdev_);
  };
  if (devargs_.kind->memif)
    on_interrupt_thread(end);
  else
    end();
  if (created_ && device != nullptr) rte_dev_remove(device);
  umems_.release();
  OwnPool::retire(std::move(own_pool_));
}

// The driver frees what it has sent when it is to send more.
void Port::end_transmission() {
  constexpr int kRounds = 16;
  for (int round = 0; round < kRounds; ++round)
    for (std::uint16_t queue = 0; queue < config_.queues; ++queue)
      rte_eth_tx_burst(ethdev_, queue, nullptr, 0);
}

// Drivers report "up" from start to stop.
bool Port::look_at_interface() {
  if (!interface_) return true;
  const KernelInterface::Look look = interface_->look();
  replaced_.store(look.state == KernelInterface::State::replaced, std::memory_order_relaxed);
  if (look.state != KernelInterface::State::same) return false;
  interface_mtu_.store(look.mtu, std::memory_order_relaxed);
  return look.running;
}

DeviceLosses Port::device_losses() {
  DeviceLosses now;
  if (memif_) {
    const MemifPort::Losses lost = memif_->losses();
    now.rx_errors.set(lost.unusable);
    now.no_buffers.set(lost.no_buffers);
    now.tx_errors.set(lost.unsent);
    return now;
  }
  rte_eth_stats stats{};
  if (rte_eth_stats_get(ethdev_, &stats) != 0) return now;
  now.missed.set(stats.imissed + packet_sockets_.lost() + umems_.lost());
  now.rx_errors.set(stats.ierrors);
  now.no_buffers.set(stats.rx_nombuf);
  now.tx_errors.set(stats.oerrors);
  return now;
}

void Port::poll_losses() {
  if (!is_device_) return;
  const DeviceLosses now = device_losses();
  for (Counter DeviceLosses::*counter : {&DeviceLosses::missed, &DeviceLosses::rx_errors,
                                         &DeviceLosses::no_buffers, &DeviceLosses::tx_errors})
    (losses_.*counter).raise_to((lost_before_.*counter).get() + (now.*counter).get());
}

bool Port::connects() const {
  return devargs_.kind->memif && devargs_.get("role").value_or("client") == "client";
}

bool Port::connect_again() {
  if (!connects()) return false;
  on_interrupt_thread([this] { rte_eth_dev_stop(ethdev_); });
  return rte_eth_dev_start(ethdev_) == 0;
}

// The driver looks for the interface that it created in the switch's namespace alone. Its queues
// work wherever the interface is.
bool Port::has_moved_away() const {
  const std::string name(devargs_.interface());
  return devargs_.kind->binding == config::Binding::creates && !name.empty() &&
         if_nametoindex(name.c_str()) == 0;
}

bool Port::driver_link_up() const {
  if (memif_) return memif_->connected();
  if (has_moved_away()) return true;
  rte_eth_link link{};
  return rte_eth_link_get_nowait(ethdev_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

// Another thread may read the link before the loop has taken it down, and must not bring it up
// again: hence the release, and poll_link() looks at lost_peer_ once more.
bool Port::unchecked() const {
  return memif_ != nullptr && memif_->unchecked();
}

bool Port::reads_results(std::uint32_t region) const {
  return memif_ != nullptr && memif_->reads(region);
}

void Port::lose_peer() {
  if (vhost_ != nullptr) vhost_->mark_lost();
  lost_peer_.store(true, std::memory_order_release);
  if (link_up_.exchange(false, std::memory_order_acq_rel))
    link_losses_.fetch_add(1, std::memory_order_relaxed);
}

// The driver takes the link down before it unmaps anything: a link that is up is that of a peer who
// holds its socket and has no memory behind it, and who would hold the port for as long as it
// likes. vhost-user's driver does so in its own time.
void Port::disconnect_peer() {
  if (memif_) {
    lost_peer_.store(false, std::memory_order_relaxed);
    return memif_->disconnect_broken();
  }
  if (vhost_ != nullptr) {
    if (!driver_link_up() || vhost_->gone())
      lost_peer_.store(false, std::memory_order_relaxed);
    else
      vhost_->disconnect();
    return;
  }
  on_interrupt_thread([this] {
    lost_peer_.store(false, std::memory_order_relaxed);
    if (!driver_link_up()) return;
    rte_eth_dev_stop(ethdev_);
    if (!connects()) rte_eth_dev_start(ethdev_);
  });
}

const char* Port::loss_text() const {
  return memif_ ? "its peer broke memif's protocol"
                : "its peer took away the memory that both share";
}

std::optional<std::string> Port::take_refusal() {
  return memif_ ? memif_->take_refusal() : std::nullopt;
}

void Port::guard() {
  guarded_.store(true, std::memory_order_relaxed);
  if (link_up_.exchange(false, std::memory_order_acq_rel))
    link_losses_.fetch_add(1, std::memory_order_relaxed);
}

// Another client may be there already: what was learned behind the one before is forgotten.
void Port::see_departures() {
  const std::uint32_t gone = memif_->departures();
  if (std::exchange(memif_departures_, gone) == gone) return;
  if (link_up_.exchange(false, std::memory_order_acq_rel))
    link_losses_.fetch_add(1, std::memory_order_relaxed);
}

bool Port::poll_link() {
  if (!is_device_) return false;
  if (memif_) see_departures();
  bool up = driver_link_up() && !lost_peer();
  up = look_at_interface() && up;
  if (!up) guarded_.store(false, std::memory_order_relaxed);
  up = up && !is_guarded();
  if (link_up_.exchange(up, std::memory_order_acq_rel) && !up)
    link_losses_.fetch_add(1, std::memory_order_relaxed);
  if (up && lost_peer()) {
    link_up_.store(false, std::memory_order_relaxed);
    return false;
  }
  return up;
}

}  // namespace tributary::dataplane
