#include "tests/dataplane_nic/fake_nic.h"

#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/net/frame.h"
#include "tests/dataplane_nic/driver_abi.h"

namespace tributary::dataplane {
namespace {

std::map<std::string, FakeNic*>& slots() {
  static std::map<std::string, FakeNic*> nics;
  return nics;
}

std::uint16_t big_endian(const void* at) {
  std::uint16_t value = 0;
  std::memcpy(&value, at, sizeof value);
  return rte_be_to_cpu_16(value);
}

}  // namespace

// The functions that DPDK calls.
struct FakeDriver {
  static FakeNic& nic_of(rte_eth_dev* dev) { return *static_cast<FakeNic*>(dev->process_private); }
  static int answer(const FakeNic& nic, Ask ask) { return nic.can.refuses == ask ? -EIO : 0; }

  static int probe(rte_vdev_device* device);
  // Its Ethernet port is gone by then: the switch closes that itself.
  static int remove(rte_vdev_device* device) {
    rte_eth_dev* const dev = rte_eth_dev_allocated(device->device.name);
    return dev == nullptr ? 0 : rte_eth_dev_release_port(dev);
  }

  static int infos(rte_eth_dev* dev, rte_eth_dev_info* info);
  static int configure(rte_eth_dev* dev);
  static int start(rte_eth_dev* dev);
  static int stop(rte_eth_dev* dev);
  static int close(rte_eth_dev* dev);
  static int link(rte_eth_dev* dev, int wait);
  static int promiscuous(rte_eth_dev* dev);
  static int all_multicast(rte_eth_dev* dev);
  static int nothing(rte_eth_dev*) { return 0; }
  static int rx_queue(rte_eth_dev* dev, std::uint16_t queue, std::uint16_t descriptors,
                      unsigned socket, const rte_eth_rxconf* conf, rte_mempool* pool);
  static int tx_queue(rte_eth_dev* dev, std::uint16_t queue, std::uint16_t descriptors,
                      unsigned socket, const rte_eth_txconf* conf);
  static int rehash(rte_eth_dev* dev, rte_eth_rss_conf* conf);
  static int flow_ops(rte_eth_dev* dev, const rte_flow_ops** ops);
  static int stats(rte_eth_dev* dev, rte_eth_stats* into);

  static int validate(rte_eth_dev* dev, const rte_flow_attr* attr, const rte_flow_item pattern[],
                      const rte_flow_action actions[], rte_flow_error* error);
  static rte_flow* create(rte_eth_dev* dev, const rte_flow_attr* attr,
                          const rte_flow_item pattern[], const rte_flow_action actions[],
                          rte_flow_error* error);
  static int destroy(rte_eth_dev* dev, rte_flow* flow, rte_flow_error* error);
  static int flush(rte_eth_dev* dev, rte_flow_error* error);

  static std::uint16_t receive(void* queue, rte_mbuf** frames, std::uint16_t count);
  static std::uint16_t transmit(void* queue, rte_mbuf** frames, std::uint16_t count);

  static const eth_dev_ops& ops();
  static void be_known();
};

namespace {

int refuse(rte_flow_error* error, int code, const char* words) {
  return rte_flow_error_set(error, code, RTE_FLOW_ERROR_TYPE_UNSPECIFIED, nullptr, words);
}

// The only shape of a rule that this card knows: Ethernet / IPv4 to one address / UDP to one port.
bool read_rule(const rte_flow_item pattern[], const rte_flow_action actions[],
               FakeNic::Rule& rule) {
  constexpr std::array kShape = {RTE_FLOW_ITEM_TYPE_ETH, RTE_FLOW_ITEM_TYPE_IPV4,
                                 RTE_FLOW_ITEM_TYPE_UDP, RTE_FLOW_ITEM_TYPE_END};
  for (std::size_t i = 0; i < kShape.size(); ++i)
    if (pattern[i].type != kShape[i]) return false;
  const auto* to = static_cast<const rte_flow_item_ipv4*>(pattern[1].spec);
  const auto* to_mask = static_cast<const rte_flow_item_ipv4*>(pattern[1].mask);
  const auto* port = static_cast<const rte_flow_item_udp*>(pattern[2].spec);
  const auto* port_mask = static_cast<const rte_flow_item_udp*>(pattern[2].mask);
  if (pattern[0].spec != nullptr || to_mask->hdr.dst_addr != 0xFFFFFFFF ||
      to_mask->hdr.src_addr != 0 || port_mask->hdr.dst_port != 0xFFFF ||
      port_mask->hdr.src_port != 0 || actions[0].type != RTE_FLOW_ACTION_TYPE_QUEUE ||
      actions[1].type != RTE_FLOW_ACTION_TYPE_END)
    return false;
  rule = {rte_be_to_cpu_32(to->hdr.dst_addr), rte_be_to_cpu_16(port->hdr.dst_port),
          static_cast<const rte_flow_action_queue*>(actions[0].conf)->index};
  return true;
}

}  // namespace

FakeNic::FakeNic(std::string name, const NicAbilities& abilities)
    : can(abilities), name_(std::move(name)) {
  FakeDriver::be_known();
  slots()[name_] = this;
}

FakeNic::~FakeNic() {
  slots().erase(name_);
}

std::size_t FakeNic::arrive(std::span<const std::byte> frame, bool udp_is_good) {
  const std::lock_guard lock(mutex_);
  const std::size_t queue = choose(frame);
  queues_.at(queue).frames.push_back({Bytes(frame.begin(), frame.end()), udp_is_good});
  return queue;
}

std::size_t FakeNic::choose(std::span<const std::byte> frame) const {
  const auto ethernet = wire::parse_ethernet(frame);
  const auto* view = std::get_if<wire::EthernetView>(&ethernet);
  if (view == nullptr || view->ether_type != 0x0800) return 0;
  const std::byte* const ip = view->payload.data();
  const std::byte* const ports = ip + 20;
  const std::uint32_t to = std::uint32_t{big_endian(ip + 16)} << 16 | big_endian(ip + 18);
  for (const auto& rule : rules_)
    if (rule->ipv4 == to && rule->udp_port == big_endian(ports + 2)) return rule->queue;
  if (hash_ == 0) return 0;
  const bool alone = (hash_ & RTE_ETH_RSS_L4_DST_ONLY) != 0;
  std::uint32_t sum = big_endian(ports + 2);
  if (!alone)
    for (const std::size_t at : {12u, 14u, 16u, 18u, 20u}) sum += big_endian(ip + at);
  return sum % queues_.size();
}

std::vector<Bytes> FakeNic::sent() {
  const std::lock_guard lock(mutex_);
  return std::exchange(sent_, {});
}

void FakeNic::set_link(bool up) {
  const std::lock_guard lock(mutex_);
  link_up_ = up;
}

std::vector<FakeNic::Rule> FakeNic::rules() const {
  const std::lock_guard lock(mutex_);
  std::vector<Rule> out;
  for (const auto& rule : rules_) out.push_back(*rule);
  std::sort(out.begin(), out.end());
  return out;
}

FakeNic::Record FakeNic::record() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

std::uint64_t FakeNic::hash() const {
  const std::lock_guard lock(mutex_);
  return hash_;
}

// As a card does: what a buffer does not hold goes on in the next one.
rte_mbuf* FakeNic::fill(const Queue& queue, const Arrived& frame) const {
  const std::size_t room = rte_pktmbuf_data_room_size(queue.pool) - RTE_PKTMBUF_HEADROOM;
  const std::size_t piece = room / can.buffer_step * can.buffer_step;
  rte_mbuf* head = nullptr;
  for (std::size_t at = 0; at < frame.bytes.size(); at += piece) {
    rte_mbuf* const segment = rte_pktmbuf_alloc(queue.pool);
    if (segment == nullptr) throw std::runtime_error("no buffer");
    const std::size_t bytes = std::min(piece, frame.bytes.size() - at);
    std::memcpy(rte_pktmbuf_append(segment, static_cast<std::uint16_t>(bytes)),
                frame.bytes.data() + at, bytes);
    if (head == nullptr)
      head = segment;
    else
      rte_pktmbuf_chain(head, segment);
  }
  if ((record_.conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_UDP_CKSUM) != 0)
    head->ol_flags |= frame.udp_is_good ? RTE_MBUF_F_RX_L4_CKSUM_GOOD : RTE_MBUF_F_RX_L4_CKSUM_BAD;
  return head;
}

int FakeDriver::probe(rte_vdev_device* device) {
  const auto slot = slots().find(device->device.name);
  if (slot == slots().end()) return -ENODEV;
  rte_eth_dev* const dev = rte_eth_dev_allocate(device->device.name);
  if (dev == nullptr) return -ENOMEM;
  dev->device = &device->device;
  dev->process_private = slot->second;
  dev->dev_ops = &ops();
  dev->rx_pkt_burst = receive;
  dev->tx_pkt_burst = transmit;
  dev->data->numa_node = slot->second->can.socket;
  dev->data->mac_addrs = static_cast<rte_ether_addr*>(
      rte_zmalloc("fake_nic", sizeof(rte_ether_addr), alignof(rte_ether_addr)));
  rte_eth_dev_probing_finish(dev);
  return 0;
}

int FakeDriver::infos(rte_eth_dev* dev, rte_eth_dev_info* info) {
  const NicAbilities& can = nic_of(dev).can;
  info->max_rx_queues = info->max_tx_queues = can.queues;
  info->max_mac_addrs = 1;
  info->max_mtu = can.most_mtu;
  info->max_rx_pktlen = std::uint32_t{can.most_mtu} + can.frame_overhead;
  info->rx_offload_capa = can.rx_offloads;
  info->tx_offload_capa = can.tx_offloads;
  info->flow_type_rss_offloads = can.hashes;
  return 0;
}

int FakeDriver::configure(rte_eth_dev* dev) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  ++nic.record_.configured;
  nic.record_.conf = dev->data->dev_conf;
  nic.queues_ = std::vector<FakeNic::Queue>(dev->data->nb_rx_queues);
  nic.record_.rx_sockets.assign(dev->data->nb_rx_queues, 0);
  nic.record_.tx_sockets.assign(dev->data->nb_tx_queues, 0);
  const bool spreads = (nic.record_.conf.rxmode.mq_mode & RTE_ETH_MQ_RX_RSS_FLAG) != 0;
  nic.hash_ = spreads ? nic.record_.conf.rx_adv_conf.rss_conf.rss_hf : 0;
  return answer(nic, Ask::configure);
}

int FakeDriver::start(rte_eth_dev* dev) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  const int answered = answer(nic, Ask::start);
  if (answered == 0) ++nic.record_.started;
  return answered;
}

int FakeDriver::stop(rte_eth_dev* dev) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  nic.record_.rules_when_stopped = nic.rules_.size();
  return 0;
}

// Rules do not outlive the port, even if the caller forgot them.
int FakeDriver::close(rte_eth_dev* dev) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  ++nic.record_.closed;
  nic.rules_.clear();
  return 0;
}

int FakeDriver::link(rte_eth_dev* dev, int) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  rte_eth_link link{};
  link.link_speed = RTE_ETH_SPEED_NUM_100G;
  link.link_status = nic.link_up_ ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
  dev->data->dev_link = link;
  return 0;
}

int FakeDriver::promiscuous(rte_eth_dev* dev) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  const int answered = answer(nic, Ask::promiscuous);
  nic.record_.promiscuous = answered == 0;
  return answered;
}

int FakeDriver::all_multicast(rte_eth_dev* dev) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  nic.record_.all_multicast = true;
  return 0;
}

int FakeDriver::rx_queue(rte_eth_dev* dev, std::uint16_t queue, std::uint16_t, unsigned socket,
                         const rte_eth_rxconf*, rte_mempool* pool) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  nic.queues_[queue].nic = &nic;
  nic.queues_[queue].pool = pool;
  nic.record_.rx_sockets[queue] = socket;
  dev->data->rx_queues[queue] = &nic.queues_[queue];
  return answer(nic, Ask::rx_queue);
}

int FakeDriver::tx_queue(rte_eth_dev* dev, std::uint16_t queue, std::uint16_t, unsigned socket,
                         const rte_eth_txconf*) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  nic.record_.tx_sockets[queue] = socket;
  dev->data->tx_queues[queue] = &nic;
  return answer(nic, Ask::tx_queue);
}

int FakeDriver::rehash(rte_eth_dev* dev, rte_eth_rss_conf* conf) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  if (!nic.can.rehashes) return -ENOTSUP;
  nic.hash_ = conf->rss_hf;
  return 0;
}

int FakeDriver::stats(rte_eth_dev* dev, rte_eth_stats* into) {
  *into = nic_of(dev).can.stats;
  return 0;
}

int FakeDriver::flow_ops(rte_eth_dev* dev, const rte_flow_ops** ops) {
  static const rte_flow_ops all = [] {
    rte_flow_ops of{};
    of.validate = validate;
    of.create = create;
    of.destroy = destroy;
    of.flush = flush;
    return of;
  }();
  *ops = nic_of(dev).can.rules ? &all : nullptr;
  return 0;
}

int FakeDriver::validate(rte_eth_dev* dev, const rte_flow_attr* attr, const rte_flow_item pattern[],
                         const rte_flow_action actions[], rte_flow_error* error) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  FakeNic::Rule rule;
  if (nic.can.refuses_rules != nullptr) return refuse(error, ENOTSUP, nic.can.refuses_rules);
  if (attr->ingress != 1 || attr->egress != 0 || attr->transfer != 0 || attr->group != 0 ||
      !read_rule(pattern, actions, rule))
    return refuse(error, ENOTSUP, "no such rule");
  if (rule.queue >= nic.queues_.size()) return refuse(error, EINVAL, "no such queue");
  return 0;
}

rte_flow* FakeDriver::create(rte_eth_dev* dev, const rte_flow_attr* attr,
                             const rte_flow_item pattern[], const rte_flow_action actions[],
                             rte_flow_error* error) {
  if (validate(dev, attr, pattern, actions, error) != 0) return nullptr;
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  auto rule = std::make_unique<FakeNic::Rule>();
  read_rule(pattern, actions, *rule);
  const char* wrong = nic.rules_.size() >= nic.can.most_rules ? "no room for rules" : nullptr;
  if (dev->data->dev_started == 0) wrong = "not started";
  for (const auto& other : nic.rules_)
    if (other->ipv4 == rule->ipv4 && other->udp_port == rule->udp_port) wrong = "there is one";
  if (wrong != nullptr) {
    refuse(error, ENOSPC, wrong);
    return nullptr;
  }
  ++nic.record_.made;
  nic.rules_.push_back(std::move(rule));
  return reinterpret_cast<rte_flow*>(nic.rules_.back().get());
}

int FakeDriver::destroy(rte_eth_dev* dev, rte_flow* flow, rte_flow_error* error) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  if (!nic.can.removes_rules) return refuse(error, EBUSY, "busy");
  const std::size_t gone = std::erase_if(nic.rules_, [&](const auto& rule) {
    return reinterpret_cast<rte_flow*>(rule.get()) == flow;
  });
  if (gone == 0) return refuse(error, ENOENT, "no such rule");
  nic.record_.removed += gone;
  return 0;
}

int FakeDriver::flush(rte_eth_dev* dev, rte_flow_error* error) {
  FakeNic& nic = nic_of(dev);
  const std::lock_guard lock(nic.mutex_);
  if (!nic.can.flushes_rules) return refuse(error, EBUSY, "busy with all");
  nic.record_.removed += nic.rules_.size();
  nic.rules_.clear();
  return 0;
}

std::uint16_t FakeDriver::receive(void* from, rte_mbuf** frames, std::uint16_t count) {
  FakeNic::Queue& queue = *static_cast<FakeNic::Queue*>(from);
  const std::lock_guard lock(queue.nic->mutex_);
  std::uint16_t received = 0;
  for (; received < count && !queue.frames.empty(); queue.frames.pop_front())
    frames[received++] = queue.nic->fill(queue, queue.frames.front());
  return received;
}

std::uint16_t FakeDriver::transmit(void* to, rte_mbuf** frames, std::uint16_t count) {
  FakeNic& nic = *static_cast<FakeNic*>(to);
  const std::lock_guard lock(nic.mutex_);
  for (rte_mbuf* const frame : std::span(frames, count)) {
    Bytes bytes(frame->pkt_len);
    const void* const flat = rte_pktmbuf_read(frame, 0, frame->pkt_len, bytes.data());
    if (flat != bytes.data()) std::memcpy(bytes.data(), flat, bytes.size());
    nic.sent_.push_back(std::move(bytes));
    rte_pktmbuf_free(frame);
  }
  return count;
}

const eth_dev_ops& FakeDriver::ops() {
  static const eth_dev_ops all = [] {
    eth_dev_ops of{};
    of.dev_configure = configure;
    of.dev_start = start;
    of.dev_stop = stop;
    of.dev_close = close;
    of.link_update = link;
    of.stats_get = stats;
    of.promiscuous_enable = promiscuous;
    of.promiscuous_disable = nothing;
    of.allmulticast_enable = all_multicast;
    of.allmulticast_disable = nothing;
    of.dev_infos_get = infos;
    of.rx_queue_setup = rx_queue;
    of.tx_queue_setup = tx_queue;
    of.rss_hash_update = rehash;
    of.flow_ops_get = flow_ops;
    return of;
  }();
  return all;
}

void FakeDriver::be_known() {
  static rte_vdev_driver driver = [] {
    rte_vdev_driver of{};
    of.driver.name = "net_fake";
    of.probe = probe;
    of.remove = remove;
    return of;
  }();
  static const bool once = [] {
    rte_vdev_register(&driver);
    return true;
  }();
  (void)once;
}

}  // namespace tributary::dataplane
