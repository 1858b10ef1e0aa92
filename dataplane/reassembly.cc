#include "dataplane/reassembly.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "config/lcore_plan.h"
#include "config/memory_plan.h"
#include "core/wire/fragment.h"

namespace tributary::dataplane {
namespace {

DatagramKey key_of(const wire::EthernetView& frame, const wire::Fragment4View& fragment) {
  return {.source_ip = fragment.source_ip,
          .destination_ip = fragment.destination_ip,
          .id = fragment.id,
          .protocol = fragment.protocol,
          .vlan_tci = frame.vlan_tci,
          .source = frame.source};
}

constexpr std::size_t kHeaders = wire::kEthernetBytes + wire::kVlanBytes + wire::kIpv4Bytes;

std::byte* bytes_of(rte_mbuf* frame) {
  return rte_pktmbuf_mtod(frame, std::byte*);
}

}  // namespace

// A received frame, in its parts.
struct Reassembly::Fragment {
  const std::byte* frame = nullptr;
  std::size_t headers = 0;  // down to IPv4's
  wire::Fragment4View ip;
};

Reassembly::Reassembly(const config::SwitchConfig& config, std::size_t lcore, std::uint64_t seed,
                       rte_mempool* pool, Lanes& lanes)
    : pool_(pool),
      lanes_(lanes),
      lcore_(lcore),
      seed_(seed),
      limits_(config.fragments),
      most_bytes_(config::buffer_data_bytes(config) - kHeaders),
      ports_(config::kMaxPorts) {
  Plan all = plan(config);
  take_in(all);
}

void Reassembly::make_room(PortState& port) const {
  port.table =
      std::make_unique<FragmentTable>(limits_.datagrams, limits_.timeout, most_bytes_, seed_);
  port.datagrams.resize(limits_.datagrams);
}

Reassembly::Plan Reassembly::plan(const config::SwitchConfig& next) const {
  Plan plan(ports_.size());
  for (const config::QueuePlace& queue : config::queue_places(next)) {
    PortState& port = plan[queue.port];
    if (std::find(port.lcores.begin(), port.lcores.end(), queue.lcore) == port.lcores.end())
      port.lcores.push_back(queue.lcore);
    if (queue.lcore == lcore_ && port.table == nullptr && ports_[queue.port].table == nullptr)
      make_room(port);
  }
  return plan;
}

void Reassembly::take_in(Plan& plan) {
  for (std::uint16_t place = 0; place < ports_.size(); ++place) {
    PortState& port = ports_[place];
    PortState& next = plan[place];
    // What is begun here is gone on with elsewhere, where it lacks what is here.
    if (port.lcores != next.lcores && port.table != nullptr) discard(place);
    std::swap(port.lcores, next.lcores);
    if (next.table == nullptr) continue;
    std::swap(port.table, next.table);
    std::swap(port.datagrams, next.datagrams);
  }
}

Reassembly::~Reassembly() {
  for (const PortState& port : ports_)
    for (const Datagram& datagram : port.datagrams) rte_pktmbuf_free(datagram.frame);
}

std::uint16_t Reassembly::owner(std::uint16_t port, const wire::EthernetView& frame) const {
  const auto& lcores = ports_[port].lcores;
  // Of a port that has just come, or goes.
  if (lcores.empty()) return static_cast<std::uint16_t>(lcore_);
  if (lcores.size() == 1) return lcores.front();
  wire::Fragment4View ip;
  // What is malformed belongs to anybody.
  if (wire::parse_fragment4(frame.payload, ip) != DropReason::count_) return lcores.front();
  return lcores[(hash_of(key_of(frame, ip), seed_) >> 32) % lcores.size()];
}

rte_mbuf* Reassembly::add(std::uint16_t port, rte_mbuf* frame, const wire::EthernetView& view,
                          Instant now) {
  PortState& at = ports_[port];
  Lane& lane = *lanes_[port];
  Fragment fragment{.frame = bytes_of(frame),
                    .headers = static_cast<std::size_t>(view.payload.data() - bytes_of(frame)),
                    .ip = {}};
  const DropReason bad = wire::parse_fragment4(view.payload, fragment.ip);
  if (bad != DropReason::count_ || at.table == nullptr) {
    drop(lane, frame, bad == DropReason::count_ ? DropReason::job_moved : bad);
    return nullptr;
  }
  const FragmentTable::Outcome out =
      at.table->add(key_of(view, fragment.ip), fragment.ip.offset, fragment.ip.payload.size(),
                    fragment.ip.more, now);
  if (out.evicted) give_up(port, *out.evicted, DropReason::fragment_evicted);
  if (out.refused) give_up(port, *out.refused, DropReason::fragment_overlap);
  if (out.reason != DropReason::count_) {
    drop(lane, frame, out.reason);
    return nullptr;
  }
  Datagram& datagram = at.datagrams[out.place];
  if (out.opened) datagram = {.frame = rte_pktmbuf_alloc(pool_)};
  if (datagram.frame == nullptr) {
    at.table->give_up(out.place);
    drop(lane, frame, DropReason::no_mbuf);
    return nullptr;
  }
  copy(datagram, fragment);
  rte_pktmbuf_free(frame);
  if (out.done == 0) return nullptr;
  lane.counters.reassembled.add();
  return finish(datagram, fragment.headers, out.done);
}

void Reassembly::copy(Datagram& to, const Fragment& fragment) {
  const std::size_t begin = fragment.headers + wire::kIpv4Bytes;
  if (fragment.ip.offset == 0) std::memcpy(bytes_of(to.frame), fragment.frame, begin);
  std::memcpy(bytes_of(to.frame) + begin + fragment.ip.offset, fragment.ip.payload.data(),
              fragment.ip.payload.size());
  to.congestion = to.congestion || fragment.ip.congestion_experienced;
}

rte_mbuf* Reassembly::finish(Datagram& datagram, std::size_t headers, std::size_t payload) {
  rte_mbuf* const whole = std::exchange(datagram.frame, nullptr);
  const std::size_t packet = wire::kIpv4Bytes + payload;
  whole->data_len = static_cast<std::uint16_t>(headers + packet);
  whole->pkt_len = static_cast<std::uint32_t>(headers + packet);
  wire::join_fragments4({bytes_of(whole) + headers, packet}, datagram.congestion);
  return whole;
}

void Reassembly::give_up(std::uint16_t port, const FragmentTable::GivenUp& given_up,
                         DropReason reason) {
  rte_pktmbuf_free(std::exchange(ports_[port].datagrams[given_up.place].frame, nullptr));
  lanes_[port]->counters.drops.add(reason, given_up.fragments);
}

std::size_t Reassembly::expire(Instant now) {
  std::size_t count = 0;
  for (std::uint16_t port = 0; port < ports_.size(); ++port) {
    FragmentTable* const table = ports_[port].table.get();
    if (table == nullptr || table->open() == 0) continue;
    while (count < kBurst) {
      const auto late = table->expire(now);
      if (!late) break;
      give_up(port, *late, DropReason::fragment_timeout);
      ++count;
    }
  }
  return count;
}

void Reassembly::discard(std::uint16_t port) {
  FragmentTable* const table = ports_[port].table.get();
  if (table == nullptr) return;
  while (const auto left = table->give_up_oldest())
    give_up(port, *left, DropReason::fragment_timeout);
}

}  // namespace tributary::dataplane
