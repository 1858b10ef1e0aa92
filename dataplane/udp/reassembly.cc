#include "dataplane/udp/reassembly.h"

#include <rte_mbuf.h>

#include <algorithm>
#include <utility>

#include "config/plan/lcore_plan.h"
#include "config/plan/memory_plan.h"

namespace tributary::dataplane {

Reassembly::Reassembly(const config::SwitchConfig& config, std::size_t lcore, std::uint64_t seed,
                       rte_mempool* pool, Lanes& lanes)
    : pool_(pool),
      lanes_(lanes),
      lcore_(lcore),
      seed_(seed),
      limits_(config.fragments),
      frame_bytes_(config::buffer_data_bytes(config)),
      ports_(config::kMaxPorts) {
  Plan all = plan(config);
  attach(all);
}

Reassembly::Plan Reassembly::plan(const config::SwitchConfig& next) const {
  Plan plan(ports_.size());
  for (const config::QueuePlace& queue : config::queue_places(next)) {
    PortState& port = plan[queue.port];
    if (std::find(port.lcores.begin(), port.lcores.end(), queue.lcore) == port.lcores.end())
      port.lcores.push_back(queue.lcore);
    if (queue.lcore == lcore_ && port.datagrams == nullptr &&
        ports_[queue.port].datagrams == nullptr)
      port.datagrams = std::make_unique<Datagrams>(limits_, frame_bytes_, seed_, pool_);
  }
  return plan;
}

void Reassembly::attach(Plan& plan) {
  for (std::uint16_t place = 0; place < ports_.size(); ++place) {
    PortState& port = ports_[place];
    PortState& next = plan[place];
    // A datagram that is begun here would go on at another lcore without its first fragments.
    if (port.lcores != next.lcores) discard(place);
    std::swap(port.lcores, next.lcores);
    if (next.datagrams != nullptr) std::swap(port.datagrams, next.datagrams);
  }
}

std::uint16_t Reassembly::owner(std::uint16_t port, const wire::EthernetView& frame) const {
  const auto& lcores = ports_[port].lcores;
  // The port has just come, or goes.
  if (lcores.empty()) return static_cast<std::uint16_t>(lcore_);
  if (lcores.size() == 1) return lcores.front();
  wire::Fragment4View ip;
  // Any lcore may drop a malformed fragment.
  if (wire::parse_fragment4(frame.payload, ip) != DropReason::none) return lcores.front();
  return lcores[(hash_of(key_of(frame, ip), seed_) >> 32) % lcores.size()];
}

rte_mbuf* Reassembly::add(std::uint16_t port, rte_mbuf* frame, const wire::EthernetView& view,
                          Instant now) {
  Lane& lane = *lanes_[port];
  Datagrams* const datagrams = ports_[port].datagrams.get();
  wire::Fragment4View fragment;
  DropReason bad = wire::parse_fragment4(view.payload, fragment);
  if (bad == DropReason::none && datagrams == nullptr) bad = DropReason::job_moved;
  Datagrams::Outcome out{.reason = bad};
  if (bad == DropReason::none)
    out = datagrams->add(frame, view, fragment, now, lane.counters.drops);
  if (out.reason != DropReason::none) drop(lane, frame, out.reason);
  if (out.whole != nullptr) lane.counters.reassembled.add();
  return out.whole;
}

std::size_t Reassembly::expire(Instant now) {
  std::size_t count = 0;
  for (std::uint16_t port = 0; port < ports_.size(); ++port)
    if (Datagrams* const datagrams = ports_[port].datagrams.get(); datagrams != nullptr)
      count += datagrams->expire(now, kBurst - count, lanes_[port]->counters.drops);
  return count;
}

void Reassembly::discard(std::uint16_t port) {
  if (ports_[port].datagrams != nullptr)
    ports_[port].datagrams->discard(lanes_[port]->counters.drops);
}

}  // namespace tributary::dataplane
