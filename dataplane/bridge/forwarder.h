// L2 forwarding of what is not the switch's own: learn the source, look up the destination,
// flood what is unknown, within a VLAN.
//
//   filter (every burst): access control
//   admit (every burst):  what access control says ─▶ MTU ─▶ VLAN of its port ─▶ learn
//   forward:              look up, or who wants the group ─▶ storm control ─▶ egress
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "config/change/change.h"
#include "core/net/frame.h"
#include "core/time.h"
#include "dataplane/bridge/acl.h"
#include "dataplane/bridge/egress.h"
#include "dataplane/bridge/fdb.h"
#include "dataplane/bridge/path_table.h"
#include "dataplane/bridge/storm.h"
#include "dataplane/frame/classify.h"
#include "dataplane/frame/vlan.h"
#include "dataplane/io/capture.h"
#include "dataplane/io/handover.h"
#include "dataplane/io/lane.h"
#include "dataplane/io/transmitter.h"
#include "dataplane/multicast/group_rings.h"
#include "dataplane/multicast/snooping.h"
#include "dataplane/telemetry/loop_telemetry.h"

namespace tributary::dataplane {

class Forwarder {
 public:
  // `groups`: the way to the lcore that keeps groups, or to the others.
  Forwarder(const config::SwitchConfig& config, std::uint64_t seed, Lanes& lanes,
            Transmitter& transmitter, rte_mempool* pool, const GroupEnd& groups = {});

  // For every burst that came in, before its frames are admitted.
  void filter(std::uint16_t ingress, std::span<rte_mbuf* const> burst) {
    if (!acl_.idle()) acl_.classify(ingress, burst);
  }
  // For every frame with a valid source, whatever its action: decides whether the port takes it,
  // and learns the source if so. Frames that are refused get Action::drop and a reason.
  void admit(std::uint16_t ingress, std::span<rte_mbuf* const> burst, std::span<Classified> what,
             Instant now);
  // Frames of the burst that was admitted, by their places in it; takes ownership of these.
  void forward(std::uint16_t ingress, std::span<rte_mbuf* const> burst,
               std::span<const Classified> what, std::span<const std::uint8_t> places, Instant now);
  // Where forward() would send one of these frames; for traces.
  [[nodiscard]] FrameVerdict::Way way_of(const Classified& what, std::size_t place,
                                         Instant now) const;
  // Where rules may watch.
  void watch_with(LoopTelemetry* telemetry) { telemetry_ = telemetry; }
  // Several lcores: each has the whole table, and tells the others what it learns.
  void tell(HandoverEnd* peers) { peers_ = peers; }
  // Takes an address that another lcore learned. A newer entry stays: all tables end up the same.
  void learn_from_peer(const Learned& address);
  // Takes multicast group messages that other lcores received, or group updates for this one, where
  // there are several lcores. Returns how many it took.
  std::size_t take_groups(Instant now);
  std::size_t expire(Instant now) {
    return forget_lost(now) + fdb_.expire(now, kExpirePerTurn) +
           (snooping_ ? snooping_->expire(now) : 0);
  }

  // Other rules for the same ports. Afterwards the change holds what was replaced, for the control
  // thread to destroy; an access list that stays keeps its counters. Frames in flight between
  // lcores leave by the rules that they were received under.
  struct Change {
    std::optional<VlanTable> vlans;
    std::optional<PathTable> paths;
    PortMask other_vlans = 0;  // ports that are concerned
    std::unique_ptr<Acl> acl;
    std::optional<StormControl> storm;
    std::optional<Fdb::Statics> statics;
    std::vector<std::uint32_t> limits;  // by port; empty: as before
    std::optional<Duration> ageing;
    std::optional<Snooping::Rules> snooping;
  };
  // Control thread. Throws std::runtime_error when there is no memory for an access list.
  void prepare(const config::SwitchConfig& next, const config::ForwardingChange& parts,
               Change& change) const;
  // The loop, between two bursts.
  void apply(Change& change);
  // Other devices are behind ports, or there are more places.
  void look_at_ports();
  // Forgets what was learned behind these ports, as when their links are lost.
  void forget_behind(PortMask ports);
  // There is no such port any more.
  void forget_port(std::uint16_t port);

  [[nodiscard]] const Fdb& fdb() const { return fdb_; }
  [[nodiscard]] const Acl& acl() const { return acl_; }
  // nullptr: groups are flooded.
  [[nodiscard]] const Snooping* snooping() const { return snooping_ ? &*snooping_ : nullptr; }

 private:
  static constexpr std::size_t kExpirePerTurn = 16;

  DropReason refusal(Lane& lane, const rte_mbuf* frame, const Classified& what, std::size_t place);
  // A kernel may have put it together from fragments that fit, as af_packet's does.
  [[nodiscard]] bool may_be_long(const Classified& what) const {
    return takes_fragments_ && (what.action == Action::aggregate || what.action == Action::host ||
                                what.action == Action::answer_echo);
  }
  void forward_one(Lane& lane, rte_mbuf* frame, const Classified& what, std::uint16_t vlan,
                   Instant now);
  // Where a frame to one address leaves: by a pinned path, or as learned; Fdb::kNoPort: unknown.
  [[nodiscard]] std::uint16_t egress_of(const Classified& what, std::uint16_t vlan,
                                        Instant now) const {
    if (!paths_.empty()) {
      const std::uint16_t pinned = paths_.port_of(what.destination, what.ethernet);
      if (pinned != PathTable::kNoPort) return pinned;
    }
    return fdb_.port_of(mac_key(what.destination, vlan), now);
  }
  [[nodiscard]] bool is_path_port(std::uint16_t port) const {
    return (vlans_.path_ports() & mask_of(port)) != 0;
  }
  // Sends a frame to several ports: its destination is a group, or unknown.
  void spread(Lane& lane, rte_mbuf* frame, const wire::EthernetView& view, std::uint16_t vlan,
              Instant now);
  // To a group, and of these ports to those that get it.
  void spread_in_group(Lane& lane, rte_mbuf* frame, const wire::EthernetView& view,
                       std::uint16_t vlan, Instant now, PortMask to);
  void take_message(const GroupFrame& message, Instant now);
  // The ports of the VLAN except the ingress port.
  [[nodiscard]] PortMask others(const Lane& lane, std::uint16_t vlan) const {
    return vlans_.members(vlan) & ~mask_of(lane.index);
  }
  // Storm control: whether a frame without a known egress port may be flooded.
  [[nodiscard]] bool may_flood(std::uint16_t ingress, const wire::MacAddress& to, Instant now);
  // Unless it is known well enough.
  void learn(Lane& lane, std::uint64_t key, Instant now);
  void learn_anew(Lane& lane, std::uint64_t key, Instant now);
  // False: it is known well enough, everywhere.
  [[nodiscard]] bool is_news(const Learned& address) const;
  // Forgets what was learned behind links that were lost. Looks at one port a call.
  std::size_t forget_lost(Instant now);

  Lanes& lanes_;
  Duration refresh_;  // how often a steady source is learned again
  VlanTable vlans_;
  PathTable paths_;
  Acl acl_;
  StormControl storm_;
  Fdb fdb_;
  std::optional<Snooping> snooping_;
  Egress egress_;
  std::array<std::uint16_t, kBurst> vlan_{};  // of the frames of the burst
  struct Link {
    std::uint32_t losses = 0;  // that have been acted upon
    Instant lost_at;           // what was learned before is forgotten
  };
  std::vector<Link> links_;  // by port
  std::uint16_t looked_at_ = 0;
  bool takes_fragments_;
  HandoverEnd* peers_ = nullptr;
  LoopTelemetry* telemetry_ = nullptr;
  GroupEnd groups_;
};

}  // namespace tributary::dataplane
