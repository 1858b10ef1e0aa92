// The packet loop of one lcore: everything it owns, and one turn of it.
//
//   commands → what other lcores hand over
//            → per receive queue { receive → classify → aggregate | host | forward | answer }
//            → expire → transmit
//
// Where there are several lcores, each does all the work of some jobs (config/plan/lcore_plan.h),
// and hands what it receives for the others to their owners.
//
// turn() takes the time as an argument and never sleeps, so tests drive it by hand; run() is
// the loop on a real clock. Only the lcore touches the state; other threads read counters, or
// send a request through mailbox().
#pragma once

#include <rte_mbuf.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/counter.h"
#include "dataplane/aggregation/aggregation.h"
#include "dataplane/bridge/announcer.h"
#include "dataplane/bridge/forwarder.h"
#include "dataplane/bridge/link_probe.h"
#include "dataplane/bridge/lldp.h"
#include "dataplane/frame/classify.h"
#include "dataplane/frame/held_frames.h"
#include "dataplane/frame/job_senders.h"
#include "dataplane/host/tsc_clock.h"
#include "dataplane/io/capture.h"
#include "dataplane/io/handover.h"
#include "dataplane/io/idle.h"
#include "dataplane/io/lane.h"
#include "dataplane/io/mailbox.h"
#include "dataplane/io/stage.h"
#include "dataplane/io/transmitter.h"
#include "dataplane/loop/polled_queues.h"
#include "dataplane/multicast/group_rings.h"
#include "dataplane/rdma/front_end.h"
#include "dataplane/telemetry/loop_telemetry.h"
#include "dataplane/udp/front_end.h"
#include "dataplane/udp/reassembly.h"

namespace tributary::dataplane {

// Values that differ between incarnations of a switch with the same configuration.
struct Randomness {
  std::uint16_t initial_epoch = 1;
  std::uint64_t fdb_seed = 1;
  std::uint64_t nonce_seed = 1;
};

// Which lcore a loop is, and the ways to the others; nullptr: there is only one.
struct LoopPlace {
  std::size_t lcore = 0;
  Handover* handover = nullptr;
  GroupRings* groups = nullptr;  // none, too, where snooping is off
  aggregator::OpenDesk* open_desk = nullptr;
};

// The lane of a port at a place, for a loop that sends frames by `way`.
std::unique_ptr<Lane> make_lane(Port& port, std::uint16_t place, const config::WayOut& way,
                                std::size_t lcore);

class PacketLoop {
 public:
  PacketLoop(const config::SwitchConfig& config, std::span<Port* const> ports, rte_mempool* pool,
             const Randomness& randomness, const LoopPlace& place = {});
  ~PacketLoop();
  PacketLoop(const PacketLoop&) = delete;
  PacketLoop& operator=(const PacketLoop&) = delete;

  // Says where the switch is when links come up, from the first turn on. Before that.
  void announce_address();
  // One turn at the given time; returns the packets received.
  std::size_t turn(Instant now);
  // Turns until stop() is called.
  void run(const TscClock& clock);
  void stop() { stopping_.store(true, std::memory_order_relaxed); }

  // On the loop's lcore, through the mailbox:
  void shut_down(Instant now);  // tells every job, flushes
  // See Engine::exclude().
  aggregator::Ruling exclude(std::uint32_t job, std::uint32_t child, bool exclude,
                             std::optional<std::uint32_t> from, Instant now) {
    return aggregation_.exclude(job, child, exclude, from, now);
  }
  completion::HostPlacement place_host(const completion::HostRanking& ranking, Instant now) {
    return aggregation_.place_host(ranking, now);
  }
  // See Engine::drain(); returns Engine::draining().
  std::vector<std::uint32_t> drain(const std::vector<std::uint32_t>& jobs, aggregator::Holder by,
                                   Instant now);
  void release(const std::vector<std::uint32_t>& jobs, aggregator::Holder by) {
    aggregation_.release(jobs, by);
  }
  // See Engine::lose_behind(). Nothing happens if the port's link is up again.
  void lose_behind(std::uint16_t port, Duration gone, Instant now);
  // Everything goes by this tap from now on, until the next call; nullptr: no longer.
  void capture(CaptureTap* tap);
  // The kernel's interface behind a port takes this much; 0: no limit is known.
  void limit_mtu(std::uint16_t port, std::uint32_t mtu) { lanes_[port]->limit_mtu(mtu); }
  using LaneAt = std::pair<std::uint16_t, std::unique_ptr<Lane>>;
  using PortAt = std::pair<std::uint16_t, Port*>;
  // Ports come and go, or queues move from one loop to another: packet_loop_ports.cc.
  struct PortPlan {
    std::size_t places = 0;
    std::vector<LaneAt> added;    // lanes of what comes
    std::vector<LaneAt> removed;  // the vacant lanes that take their places
    std::vector<PortAt> closed;   // the same where the port stays, with its lane: Port::closed()
    std::vector<PortAt> opened;   // and what takes the place of that
    std::vector<std::pair<std::uint16_t, std::string>> renamed;
    std::vector<config::WayOut> ways;  // by place
    PolledQueues::Plan queues;
    std::vector<std::uint16_t> gone;                 // places of `removed`
    Reassembly::Plan reassembly;                     // empty: it puts nothing together
    std::atomic<std::size_t>* loops_left = nullptr;  // that have not let go; of all loops together
  };
  struct Change {
    std::shared_ptr<Aggregation::Change> aggregation;
    Identity identity;
    JobSenders senders;
    UdpFrontEnd udp;
    RdmaFrontEnd rdma;
    Forwarder::Change forwarding;
    std::optional<Duration> idle_sleep_max;
    std::optional<config::LldpConfig> lldp_rules;
    std::unique_ptr<Lldp> lldp;                       // where there was none
    std::unique_ptr<LoopTelemetry::Rules> telemetry;  // where that is on
    // The device behind a port from now on. The one before is not used any more when apply()
    // returns.
    std::vector<PortAt> ports;
    std::vector<std::pair<std::uint16_t, std::uint32_t>> mtus;  // that are others from now on
    PortMask forget = 0;  // addresses behind these ports: switches below have left them
    std::optional<PortPlan> plan;
  };
  // Three steps, each of all loops before the next one of any; without a plan, the second is all.
  void make_room(PortPlan& plan);
  void apply(Change& change, Instant now);  // see Aggregation and Forwarder; lets go of queues
  // Also done by catch_up() in each turn, after the last loop has released its queues: a loop that
  // falls silent in between delays the others no longer than that. The change lives until then.
  void attach(Instant now);
  bool catch_up(Instant now) {
    if (taking_in_ != nullptr && taking_in_->loops_left->load(std::memory_order_acquire) == 0)
      attach(now);
    return has_attached();
  }
  [[nodiscard]] bool has_attached() const { return taking_in_ == nullptr; }
  // Addresses and neighbours there. Once more when every loop has applied a change: one that had
  // not yet may have told this one what it learned by the rules before.
  void forget_behind(PortMask ports);
  [[nodiscard]] const aggregator::Engine& engine() const { return aggregation_.engine(); }
  [[nodiscard]] const completion::Engine& completion() const { return aggregation_.completion(); }
  [[nodiscard]] const completion::RemoteHosts* remote_hosts() const {
    return aggregation_.remote_hosts();
  }
  [[nodiscard]] const completion::SwitchHost* hosted() const { return aggregation_.hosted(); }
  [[nodiscard]] const aggregator::NameEngine& names() const { return aggregation_.names(); }
  [[nodiscard]] const Fdb& fdb() const { return forwarder_.fdb(); }
  [[nodiscard]] const Acl& acl() const { return forwarder_.acl(); }
  [[nodiscard]] const Snooping* snooping() const { return forwarder_.snooping(); }
  [[nodiscard]] const NextHops& next_hops() const { return udp_.next_hops(); }
  [[nodiscard]] const QueuePairs& queue_pairs() const { return rdma_.pairs(); }
  [[nodiscard]] const ConnectedRanks& connections() const { return rdma_.connections(); }
  // nullptr: it is off.
  [[nodiscard]] const Lldp* lldp() const { return lldp_.get(); }
  // nullptr: it is off. Fixed at the start; any thread may read its counters, and one takes its
  // reports.
  [[nodiscard]] LoopTelemetry* telemetry() const { return telemetry_.get(); }

  // One control thread at a time:
  [[nodiscard]] std::shared_ptr<Change> prepare(const config::SwitchConfig& next,
                                                const config::ForwardingChange& parts = {});
  // Plans the ports of `next`, which are at their places; the caller adds the lanes of new ones.
  [[nodiscard]] PortPlan plan_ports(const config::SwitchConfig& next,
                                    const config::PortChange& ports) const;

  // Any thread; what a change replaces stays as it was as long as the change does, so queues() and
  // port_counters() are to be read while the configuration is held:
  struct Counters {
    Counter turns;
    Counter idle_turns;
    Counter sleep_ns;
    Counter longest_turn_ns;  // from the beginning of one to that of the next, sleep included
  };
  Mailbox& mailbox() { return mailbox_; }
  [[nodiscard]] std::size_t lcore() const { return lcore_; }
  // True while a step of a change waits for this loop, or runs: what it owns may be exchanged at
  // any moment, jobs, routers and LLDP included. No other thread may look at these then, and a
  // request would time out. Other threads must call it while they hold the configuration, when
  // no further step can come; once it is false there, all that the loop has done is visible.
  [[nodiscard]] bool is_late() const { return steps_left_.load(std::memory_order_acquire) != 0; }
  // The control thread that changes the configuration, which it holds; before it posts a step.
  void expect_step() { steps_left_.fetch_add(1, std::memory_order_relaxed); }
  // On the loop, at the end of the step; pairs with is_late().
  void step_taken() { steps_left_.fetch_sub(1, std::memory_order_release); }
  [[nodiscard]] std::span<const PolledQueue> queues() const { return queues_.shown(); }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] const StageTable& stages() const { return stages_; }
  [[nodiscard]] const Counter& outbox_overflows() const { return aggregation_.outbox_overflows(); }
  [[nodiscard]] const PortCounters& port_counters(std::size_t port) const {
    return *shown_counters_[port].load(std::memory_order_acquire);
  }

 private:
  PacketLoop(const config::SwitchConfig& config, const config::SwitchConfig& part,
             const config::LcoreShare& share, std::span<Port* const> ports, rte_mempool* pool,
             const Randomness& randomness, const LoopPlace& place);

  [[nodiscard]] std::unique_ptr<Lldp> make_lldp(const config::SwitchConfig& config);
  void apply_lldp(Change& change, Instant now);
  // Ports whose first queue this loop polls: it speaks for the switch there.
  [[nodiscard]] PortMask spoken_for() const;
  void exchange_port(std::uint16_t place, Port& port);
  // Another lane at that place, in exchange for the one that was there.
  void put_lane(std::uint16_t place, std::unique_ptr<Lane>& lane);
  void release(PortPlan& plan, Instant now);
  void give_up_ports(PortPlan& plan, Instant now);
  std::size_t receive(Lane& lane, PolledQueue& queue);
  // Makes frames of the burst whole, unless their payload may be read where the client has it.
  void take_in_place(std::size_t received, bool lent);
  [[nodiscard]] bool stays_in_place(const Classified& what) const;
  void start_telemetry(const config::SwitchConfig& config);
  // Returns how many frames of the burst go on: metadata of in-band telemetry is dealt with.
  std::size_t take_telemetry(std::uint16_t port, std::size_t received);
  void classify_burst(std::uint16_t port, std::size_t received, Instant now);
  // Drops a frame that speaks to a job's workers and must not. `own`: mac_bits() of the switch.
  void judge_sender(std::uint16_t port, std::uint64_t own, Classified& what) const;
  // Notes what the device says of the checksum of a frame for an engine, or that it needs none.
  void take_device_check(std::uint16_t port, const rte_mbuf& frame, Classified& what) const;
  std::size_t aggregate(std::uint16_t port, Instant now);
  // Makes the sums that wait for them, and gives clients what is theirs.
  void let_go_of_frames();
  std::size_t host(std::uint16_t port, Instant now);
  std::size_t forward(std::uint16_t port, Instant now);
  std::size_t answer(std::uint16_t port);
  void answer_one(std::uint16_t port, rte_mbuf* frame, const Classified& what);
  // A request for a queue pair.
  void answer_cm(std::uint16_t port, rte_mbuf* frame, const Classified& what, Instant now);
  void take_returned(std::uint16_t port, rte_mbuf* frame, const Classified& what, Instant now);
  // A frame for a connected queue pair of this lcore.
  void take_connected(std::uint16_t port, rte_mbuf* frame, const Classified& what, Instant now);
  // The lcore that owns the job that a frame is of; nullopt: no job here.
  [[nodiscard]] std::optional<std::uint16_t> owner_of(const Classified& what) const;
  // Answers a probe of a link, or measures by one; or drops it.
  void take_probe(std::uint16_t port, rte_mbuf* frame, const Classified& what, Instant now);
  // Takes a neighbour's LLDP message.
  void intercept(std::uint16_t port, rte_mbuf* frame, const Classified& what, Instant now);
  // Learns routers from ARP, and tells other loops; broadcast and multicast ARP is forwarded, too.
  void intercept_arp(std::uint16_t port, std::size_t place, Instant now);
  void learn_router(std::uint16_t port, const Classified& what, Instant now);
  std::size_t ask_routers(Instant now);
  // Tells a trace what becomes of a received frame; aggregation tells of its own frames.
  void tell(std::uint16_t port, const rte_mbuf* frame, const FrameVerdict& verdict) {
    if (tap_ != nullptr && tap_->wants_verdicts()) tap_->tell(port, frame, verdict);
  }
  // A fragment at a place in the burst: to the lcore that puts its datagram together, or with the
  // others. True: the datagram is whole, and has taken that place.
  bool put_together(std::uint16_t port, std::size_t place, Instant now);
  // The same without a place: the whole datagram and what it is, or nullptr.
  rte_mbuf* join_fragment(std::uint16_t port, rte_mbuf* frame, Classified& what, Instant now);
  // Hands a job's packet to the lcore that owns the job. False: this lcore owns it.
  bool hand_over(std::uint16_t port, rte_mbuf* frame, const Classified& what,
                 std::uint64_t arrived_tsc);
  void hand_over_to(std::size_t owner, std::uint16_t port, rte_mbuf* frame,
                    std::uint64_t arrived_tsc);
  // All that others have handed over so far.
  void drain_peers(Instant now);
  // Takes what other lcores have handed over; returns how many packets.
  std::size_t take_over(Instant now);
  std::size_t take_frames(std::size_t from, Instant now);
  void take_packet(std::size_t place, Handed& handed, Instant now);

  // Places in the current burst of what the same happens to.
  struct Sorted {
    std::array<std::uint8_t, kBurst> places;
    std::size_t count = 0;
    void add(std::size_t place) { places[count++] = static_cast<std::uint8_t>(place); }
    [[nodiscard]] std::span<const std::uint8_t> get() const {
      return std::span(places).first(count);
    }
  };

  std::size_t lcore_;
  config::LcoreShare share_;
  Identity identity_;
  JobSenders senders_;
  CaptureTap* tap_ = nullptr;
  Lanes lanes_;
  PolledQueues queues_;
  // Counters of lanes, for other threads; written by the loop.
  std::array<std::atomic<const PortCounters*>, config::kMaxPorts> shown_counters_{};
  std::optional<HandoverEnd> peers_;
  Transmitter transmitter_;
  std::optional<Fragmenter> fragmenter_;
  std::optional<Reassembly> reassembly_;
  Forwarder forwarder_;
  UdpFrontEnd udp_;
  RdmaFrontEnd rdma_;
  Aggregation aggregation_;
  std::unique_ptr<Lldp> lldp_;
  std::unique_ptr<LoopTelemetry> telemetry_;
  std::unique_ptr<LinkProbe> link_probe_;  // with telemetry
  std::optional<Announcer> announcer_;
  PortPlan* taking_in_ = nullptr;
  // The current burst, and what is known of each frame.
  std::array<rte_mbuf*, kBurst> burst_{};
  std::array<const std::byte*, kBurst> in_place_{};  // see take_in_place(); nullptr: it is whole
  bool any_lent_ = false;                            // PolledQueue::lent
  std::uint64_t burst_arrived_ = 0;                  // TSC
  std::array<Classified, kBurst> what_;
  Sorted to_aggregate_;
  Sorted to_host_;
  Sorted to_forward_;
  Sorted to_answer_;
  HeldFrames held_;

  rte_mempool* pool_;
  IdlePolicy idle_;
  std::atomic<bool> stopping_{false};  // set by the stopping thread, read by the loop
  Counters counters_;
  Instant turn_began_;
  StageTable stages_;
  Mailbox mailbox_;
  std::atomic<std::uint32_t> steps_left_{0};  // see is_late()
};

inline void PacketLoop::take_device_check(std::uint16_t port, const rte_mbuf& frame,
                                          Classified& what) const {
  if (what.udp.checksum == 0) {
    what.udp.checksum_checked = lanes_[port]->port->unchecked();
    return;
  }
  what.udp.checksum_checked =
      lanes_[port]->checks_udp &&
      (frame.ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_GOOD;
}

}  // namespace tributary::dataplane
