#include "dataplane/port/ethdev.h"

#include <net/if.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "dataplane/frame/frame_pool.h"
#include "dataplane/host/interrupt_thread.h"
#include "dataplane/port/port_refusal.h"

namespace tributary::dataplane {
namespace {

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

}  // namespace

Ethdev::Ethdev(const config::PortConfig& port, const Devargs& devargs)
    : port_(port), devargs_(devargs) {
  open_interface();
  create();
  look_or_close();
}

Ethdev::Ethdev(const config::PortConfig& port, const Devargs& devargs, std::uint16_t id,
               bool checks_udp)
    : port_(port), devargs_(devargs), id_(id), checks_udp_(checks_udp) {
  look_or_close();
}

Ethdev::~Ethdev() {
  close();
}

void Ethdev::fail(const std::string& what, int error) const {
  refuse_port(port_, devargs_, what, error);
}

// DPDK itself creates the network cards that it was told of as it starts: no port has them yet.
bool Ethdev::is_taken(const Devargs& device) {
  std::uint16_t id = 0;
  return rte_eth_dev_get_port_by_name(device.device.c_str(), &id) == 0 &&
         (!device.pci() || g_taken[id].load());
}

void Ethdev::create() {
  std::uint16_t id = 0;
  if (rte_eth_dev_get_port_by_name(devargs_.device.c_str(), &id) != 0) probe();
  created_ = true;

  bool found = false;
  rte_dev_iterator iterator;
  RTE_ETH_FOREACH_MATCHING_DEV(id, port_.devargs.c_str(), &iterator) {
    id_ = id;
    found = true;
    rte_eth_iterator_cleanup(&iterator);
    break;
  }
  if (!found) fail("the device has no Ethernet port", ENODEV);
  g_taken[id_].store(true);
}

// Before the driver, which does not say what the system told it.
void Ethdev::open_interface() {
  if (devargs_.kind->binding != config::Binding::opens || devargs_.interface().empty()) return;
  try {
    interface_.emplace(devargs_.interface());
  } catch (const std::runtime_error& error) {
    refuse_port(port_, error.what());
  }
}

void Ethdev::probe() {
  const PacketSockets::Collecting collecting(packet_sockets_, devargs_.number("qpairs", 1));
  const int error = rte_dev_probe(port_.devargs.c_str());
  if (error == 0) return;
  if (!collecting.refused().empty())
    refuse_port(port_,
                "the device cannot be created: " + collecting.refused() +
                    (!interface_ || interface_->look().running
                         ? ""
                         : "; the interface is down (ip link set " + interface_->name() + " up)"));
  fail("the device cannot be created", error);
}

void Ethdev::look_or_close() {
  try {
    look();
  } catch (...) {
    close();
    throw;
  }
}

// Asks the device for its limits, and checks the configuration against them.
void Ethdev::look() {
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(id_, &info); error != 0)
    fail("no device information", error);
  // For a device in software, DPDK knows only which thread made it.
  if (devargs_.pci()) socket_ = rte_eth_dev_socket_id(id_);
  sends_segments_ = (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS) != 0;
  if (devargs_.kind->vhost)
    vhost_ = std::make_unique<VhostPeer>(id_, std::string(devargs_.get("iface").value_or("")));
  if (devargs_.pci() && (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) != 0)
    checks_udp_ = true;
  most_queues_ = std::min(info.max_rx_queues, info.max_tx_queues);
  if (devargs_.pci()) most_mtu_ = info.max_mtu;
  if (const std::string wrong = lacks(port_); !wrong.empty()) refuse_port(port_, wrong);
}

std::string Ethdev::lacks(const config::PortConfig& wanted) const {
  if (wanted.queues > most_queues_)
    return "queues: " + std::to_string(wanted.queues) + " pairs; the device has " +
           std::to_string(most_queues_);
  if (wanted.mtu > most_mtu_)
    return "mtu: " + std::to_string(wanted.mtu) + "; the device takes up to " +
           std::to_string(most_mtu_);
  return {};
}

std::string Ethdev::set_up(std::span<rte_mempool* const> pools, std::size_t own_buffers,
                           Steering& steering) {
  std::vector<rte_mempool*> own;
  if (own_buffers != 0 && !pools.empty()) {
    make_own_pool(own_buffers, pools.front()->socket_id);
    own.assign(pools.size(), own_pool_->pool().get());
    pools = own;
  }
  rte_eth_dev_info info;
  if (const int error = rte_eth_dev_info_get(id_, &info); error != 0)
    fail("no device information", error);
  rte_eth_conf conf{};
  // No MBUF_FAST_FREE: frames are multicast by reference count, and come from several pools.
  if (sends_segments_) conf.txmode.offloads = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
  // Virtual drivers misreport their limits and the MTU is enforced here, both ways; hardware has to
  // be told.
  if (devargs_.pci()) conf.rxmode.mtu = port_.mtu;
  if (devargs_.pci() && checks_udp_) conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_UDP_CKSUM;
  if (port_.queues > 1) spread(info, conf);
  if (const int error = rte_eth_dev_configure(id_, port_.queues, port_.queues, &conf); error != 0)
    fail("the device refuses its configuration", error);
  set_up_queues(pools);
  // A memif client does not start while its server is not there: not an error.
  const int error = rte_eth_dev_start(id_);
  if (error != 0 && !connects()) fail("the device does not start", error);
  connecting_ = connects() && error == 0;
  if (own_pool_) own_pool_->note_kept();
  if (port_.queues > 1)
    steering.begin(id_, conf.rx_adv_conf.rss_conf.rss_hf, info.flow_type_rss_offloads);
  std::string lacking = take_all_frames();
  if (devargs_.kind->hears_others_first) forget_what_others_sent(devargs_, id_, port_.queues);
  return lacking;
}

// A switch takes frames for others. Drivers without a filter say "not supported"; a card that has
// one, and refuses, takes nothing that is not for its own address.
std::string Ethdev::take_all_frames() {
  if (interface_) try {
      interface_->take_all_frames();
      return "";
    } catch (const std::runtime_error& refused) {
      return refused.what();
    }
  const int error = rte_eth_promiscuous_enable(id_);
  if (error == 0 || !devargs_.pci()) return "";
  return std::string("takes only frames to its own address, promiscuous mode is refused: ") +
         std::strerror(std::abs(error));
}

void Ethdev::make_own_pool(std::size_t buffers, int socket) {
  OwnPool::sweep();
  try {
    own_pool_ = std::make_unique<OwnPool>(size_own_pool(buffers), socket);
  } catch (const std::runtime_error& error) {
    refuse_port(port_, std::string("its own packet buffers: ") + error.what());
  }
}

void Ethdev::set_up_queues(std::span<rte_mempool* const> pools) {
  const XdpUmems::Collecting collecting(umems_);
  std::uint16_t rx = kDescriptors;
  std::uint16_t tx = kDescriptors;
  rte_eth_dev_adjust_nb_rx_tx_desc(id_, &rx, &tx);
  for (std::uint16_t queue = 0; queue < port_.queues; ++queue) {
    rte_mempool* const pool = pools[queue];
    const auto socket = static_cast<unsigned>(pool->socket_id);
    if (const int error = rte_eth_rx_queue_setup(id_, queue, rx, socket, nullptr, pool); error != 0)
      fail("no receive queue", error);
    if (const int error = rte_eth_tx_queue_setup(id_, queue, tx, socket, nullptr); error != 0)
      fail("no transmit queue", error);
  }
}

void Ethdev::close() {
  vhost_.reset();
  g_taken[id_].store(false);
  rte_eth_dev_info info;
  rte_device* device = rte_eth_dev_info_get(id_, &info) == 0 ? info.device : nullptr;
  packet_sockets_.release();
  if (own_pool_ && own_pool_->has_begun()) end_transmission();
  const XdpUmems::Collecting collecting(umems_);
  const auto end = [this] {
    rte_eth_dev_stop(id_);
    rte_eth_dev_close(id_);
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
void Ethdev::end_transmission() {
  constexpr int kRounds = 16;
  for (int round = 0; round < kRounds; ++round)
    for (std::uint16_t queue = 0; queue < port_.queues; ++queue)
      rte_eth_tx_burst(id_, queue, nullptr, 0);
}

// Drivers report "up" from start to stop.
bool Ethdev::look_at_interface() {
  if (!interface_) return true;
  const KernelInterface::Look look = interface_->look();
  replaced_.store(look.state == KernelInterface::State::replaced, std::memory_order_relaxed);
  if (look.state != KernelInterface::State::same) return false;
  interface_mtu_.store(look.mtu, std::memory_order_relaxed);
  return look.running;
}

bool Ethdev::is_running() {
  const bool up = link_up();
  return look_at_interface() && up;
}

DeviceLosses Ethdev::losses() {
  DeviceLosses now;
  rte_eth_stats stats{};
  if (rte_eth_stats_get(id_, &stats) != 0) return now;
  now.missed.set(stats.imissed + packet_sockets_.lost() + umems_.lost());
  now.rx_errors.set(stats.ierrors);
  now.no_buffers.set(stats.rx_nombuf);
  now.tx_errors.set(stats.oerrors);
  return now;
}

bool Ethdev::connects() const {
  return devargs_.kind->memif && devargs_.get("role").value_or("client") == "client";
}

bool Ethdev::connect_again() {
  if (!connects()) return false;
  on_interrupt_thread([this] { rte_eth_dev_stop(id_); });
  return rte_eth_dev_start(id_) == 0;
}

// The driver looks for the interface that it created in the switch's namespace alone. Its queues
// work wherever the interface is.
bool Ethdev::has_moved_away() const {
  const std::string name(devargs_.interface());
  return devargs_.kind->binding == config::Binding::creates && !name.empty() &&
         if_nametoindex(name.c_str()) == 0;
}

bool Ethdev::link_up() const {
  if (has_moved_away()) return true;
  rte_eth_link link{};
  return rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

void Ethdev::mark_peer_lost() {
  if (vhost_ != nullptr) vhost_->mark_lost();
}

// The driver takes the link down before it unmaps anything: a link that is up is that of a peer who
// holds its socket and has no memory behind it, and who would hold the port for as long as it
// likes. vhost-user's driver does so in its own time.
void Ethdev::disconnect_peer(PortLink& link) {
  if (vhost_ != nullptr) {
    if (!link_up() || vhost_->gone())
      link.forget_peer();
    else
      vhost_->disconnect();
    return;
  }
  on_interrupt_thread([this, &link] {
    link.forget_peer();
    if (!link_up()) return;
    rte_eth_dev_stop(id_);
    if (!connects()) rte_eth_dev_start(id_);
  });
}

}  // namespace tributary::dataplane
