// State that one lcore keeps for one port: counters, frames that wait to be sent, learning cache.
//
// Written by its lcore only; other threads read the counters. More lcores mean more lanes per
// port, and readers add them up. Where the lcore has no transmit queue of the port, frames for it
// are handed to an lcore that has one.
#pragma once

#include <algorithm>
#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "core/counter.h"
#include "core/drop_reason.h"
#include "core/net/frame.h"
#include "core/time.h"
#include "dataplane/frame/frame_pool.h"
#include "dataplane/frame/token_bucket.h"
#include "dataplane/io/fair_backlog.h"
#include "dataplane/port/port.h"

struct rte_mbuf;

namespace tributary::dataplane {

class CaptureTap;

struct PortCounters {
  Counter rx_packets;
  Counter rx_bytes;
  Counter tx_packets;
  Counter tx_bytes;
  Counter peer_faults;      // shared memory vanished during a burst
  Counter ecn_marked;       // frames that were told of the queue which they joined
  Counter ecn_marked_jobs;  // of those, jobs' own
  Counter reassembled;      // datagrams put together from fragments
  Counter fragmented;       // frames that left as fragments
  DropCounters drops;

  // Adds another lcore's figures to these.
  void include(const PortCounters& other) {
    for (Counter PortCounters::*counter :
         {&PortCounters::rx_packets, &PortCounters::rx_bytes, &PortCounters::tx_packets,
          &PortCounters::tx_bytes, &PortCounters::peer_faults, &PortCounters::ecn_marked,
          &PortCounters::ecn_marked_jobs, &PortCounters::reassembled, &PortCounters::fragmented})
      (this->*counter).add((other.*counter).get());
    drops.include(other.drops);
  }
};

struct Lane {
  Lane(Port& p, std::uint16_t i) : port(&p), name(p.name()), index(i), checks_udp(p.checks_udp()) {
    interface_mtu = p.interface_mtu();
    set_mtu(p.config().mtu);
  }

  // Another port takes this place; no frame waits in the lane.
  void exchange(Port& p) {
    port = &p;
    interface_mtu = p.interface_mtu();
    set_mtu(p.config().mtu);
    checks_udp = p.checks_udp();
  }
  void set_mtu(std::uint32_t wanted) {
    mtu = wanted;
    const std::uint32_t least = interface_mtu == 0 ? mtu : std::min(mtu, interface_mtu);
    most_bytes = least + wire::kEthernetBytes;
  }
  // The kernel would throw away what is longer, and count it nowhere.
  void limit_mtu(std::uint32_t of_interface) {
    interface_mtu = of_interface;
    set_mtu(mtu);
  }

  Port* port;
  std::string name;                 // of the port, for its neighbours
  std::uint16_t index;              // of the port
  std::size_t most_bytes = 0;       // of a frame without a tag
  std::uint32_t mtu = 0;            // as the configuration has it
  std::uint32_t interface_mtu = 0;  // of the kernel's interface behind the port; 0: no limit
  bool checks_udp;                  // see Port
  CaptureTap* tap = nullptr;        // set while a capture or trace runs
  std::uint16_t tx_queue = 0;
  std::optional<std::uint16_t> sender;  // the lcore that sends; none: this one
  bool held = false;  // the transmit queue is another lcore's still: what leaves here waits
  // Frames that the driver gets with the next flush, and which of these are jobs' packets. While
  // the driver refuses some, others wait in `behind`: a burst of them at a time comes here.
  std::array<rte_mbuf*, kTransmitBacklog> waiting;
  std::size_t waiting_count = 0;
  std::bitset<kTransmitBacklog> of_jobs;
  FairBacklog behind;

  // Frames of a class of traffic that wait because the driver has refused some.
  [[nodiscard]] std::size_t backlog(TrafficClass traffic) const {
    if (behind.empty()) return 0;
    const std::size_t jobs = of_jobs.count();
    return behind.size(traffic) + (traffic == TrafficClass::jobs ? jobs : waiting_count - jobs);
  }
  [[nodiscard]] bool has_room(TrafficClass traffic) const {
    return behind.empty() ? waiting_count < waiting.size() : backlog(traffic) < FairBacklog::kRoom;
  }
  // True if a frame can simply wait for the next flush: room, link up, no backlog, no tap.
  [[nodiscard]] bool takes_at_once() const {
    return waiting_count < waiting.size() && behind.empty() && !sender && tap == nullptr &&
           port->link().up();
  }
  void add(rte_mbuf* frame, TrafficClass traffic) {
    if (traffic == TrafficClass::jobs) of_jobs.set(waiting_count);
    waiting[waiting_count++] = frame;
  }
  void forget_waiting() {
    waiting_count = 0;
    of_jobs.reset();
  }

  // Last source address learned here; spares the FDB most of the work.
  std::uint64_t last_source = 0;  // with its VLAN, as in mac_key.h
  Instant learn_again;

  // Rate of refusals sent to unknown senders.
  static constexpr std::uint32_t kRefusalsPerSecond = 1000;
  static constexpr std::uint32_t kRefusalBurst = 256;
  TokenBucket refusals{kRefusalsPerSecond, kRefusalBurst};
  // Rate of refusals of named data: its own, so that polling for a name takes nothing from others.
  TokenBucket name_refusals{kRefusalsPerSecond, kRefusalBurst};

  PortCounters counters;
};

// By places of ports: those in use, and behind them the vacant ones that there may yet be, so that
// whatever names a place finds a lane. All memory is taken at construction.
class Lanes {
 public:
  Lanes() {
    for (std::uint16_t place = 0; place < all_.size(); ++place)
      all_[place] = std::make_unique<Lane>(Port::none(), place);
  }
  [[nodiscard]] std::size_t size() const { return used_; }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.begin() + static_cast<std::ptrdiff_t>(used_); }
  std::unique_ptr<Lane>& operator[](std::size_t place) { return all_[place]; }
  const std::unique_ptr<Lane>& operator[](std::size_t place) const { return all_[place]; }
  void push_back(std::unique_ptr<Lane> lane) { all_[used_++] = std::move(lane); }
  // So many places, or more.
  void use(std::size_t places) { used_ = std::max(used_, places); }

 private:
  std::array<std::unique_ptr<Lane>, config::kMaxPorts> all_;
  std::size_t used_ = 0;
};

// Counts and frees a frame that goes no further.
void drop(Lane& lane, rte_mbuf* frame, DropReason reason);

}  // namespace tributary::dataplane
