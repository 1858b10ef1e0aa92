// The RDMA front end (dataplane/frontend/front_end.h): RoCEv2 over IPv4, from hosts whose network
// card or kernel speaks RDMA. Aggregation packets in SENDs on UD queue pairs; or WRITEs to a window
// of addresses on connected ones (connected/), which dataplane/aggregation/connected.cc drives.
//
//   SEND to the job's queue pair ─▶ port, queue pair, P_Key, Q_Key, operation ─▶ packet ─▶ ICRC
//   message ─▶ a SEND to each rank's queue pair
//   SIDR_REQ to queue pair 1 ─▶ SIDR_REP (cm_responder.h)
//   RC or UC packet ─▶ read_connected() ─▶ its connection ─▶ contributions; results ─▶
//   write_connected()
//
// An endpoint's flow is the rank's queue pair. A host behind a router is bound to the router's MAC
// address. Owned by a packet loop, whose thread alone calls it; a change of configuration makes
// another one, which takes its place between two packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/wire/header.h"
#include "dataplane/frame/classify.h"
#include "dataplane/frontend/front_end.h"
#include "dataplane/frontend/job_owners.h"
#include "dataplane/rdma/cm_responder.h"
#include "dataplane/rdma/connected/connected_ranks.h"
#include "dataplane/rdma/queue_pairs.h"
#include "dataplane/rdma/rdma_copies.h"
#include "dataplane/rdma/ud_frame.h"

namespace tributary::dataplane {

class RdmaFrontEnd {
 public:
  using Frame = Classified;  // as rdma
  using Copy = RdmaCopy;

  // `part`: of the configuration, what this lcore does; see Aggregation. `seed` differs between
  // incarnations of the switch.
  RdmaFrontEnd(const config::SwitchConfig& config, const config::SwitchConfig& part,
               std::size_t lcore, std::uint64_t seed);

  // False: no job takes RDMA.
  [[nodiscard]] bool enabled() const { return !pairs_.empty(); }
  [[nodiscard]] std::optional<std::uint16_t> owner(const Classified& frame) const {
    if (is_connected(frame)) return lcore_of(*wire::peek_qpn(frame.udp.payload));
    const auto payload = wire::peek_ud_payload(frame.udp.payload);
    return owners_.of(wire::peek_job(wire::packet_in_send(payload)));
  }
  DropReason read(std::uint16_t port, const Classified& frame, Event& event) const;
  // The ICRC, and a CRC32C where there is one.
  static DropReason check(const Classified& frame, Event& event);

  std::span<const RdmaCopy> copies(const aggregator::Outgoing& message,
                                   const aggregator::Members& members) {
    return copies_.of(message.header.job, members);
  }
  static RdmaCopy copy_to(std::span<const std::uint16_t> ports) { return {.ports = ports}; }
  struct Written {
    std::size_t bytes = 0;  // the frame's length
    DropReason why = DropReason::none;
  };
  Written write(const aggregator::Outgoing& message, const RdmaCopy& copy,
                std::span<std::byte> frame) const;

  // The reply to a frame classified as answer_cm.
  Written answer_cm(std::uint16_t port, const Classified& request,
                    std::span<std::byte> frame) const;

  // A frame for a connected queue pair.
  static bool is_connected(const Classified& frame) {
    const auto qpn = wire::peek_qpn(frame.udp.payload);
    return qpn && is_connected_qpn(*qpn);
  }
  struct ConnectedArrival {
    Connection* connection = nullptr;
    wire::RoceView view;  // empty but for its BTH where the operation is an atomic one
  };
  // All of its checks but those of its connection.
  DropReason read_connected(std::uint16_t port, const Classified& frame,
                            ConnectedArrival& arrival) const;
  // A packet to a connection's rank.
  Written write_connected(const Connection& to, const wire::RoceHeaders& headers,
                          std::span<const std::byte> payload, std::span<std::byte> frame) const;

  // The lcore whose job a message for connected queue pairs concerns; nullopt: any answers it.
  [[nodiscard]] std::optional<std::uint16_t> set_up_owner(const Classified& frame) const;
  struct CmArrival {
    wire::CmMessage message;
    Endpoint::Parts from;
  };
  // none, and it is a message for connected queue pairs; unhandled: it is not.
  DropReason read_set_up(std::uint16_t port, const Classified& frame, CmArrival& arrival) const;
  Written write_set_up(const Endpoint& to, const wire::Mad& mad, std::span<std::byte> frame) const;

  [[nodiscard]] ConnectedRanks& connections() { return connections_; }
  [[nodiscard]] const ConnectedRanks& connections() const { return connections_; }
  [[nodiscard]] const QueuePairs& pairs() const { return pairs_; }
  // Before adopt(), on any thread between two changes of the configuration.
  void make_room_for(const RdmaFrontEnd& before) {
    connections_.make_room_for(before.connections_);
  }
  // Before it takes the place of this one.
  void adopt(RdmaFrontEnd& before) {
    pairs_.adopt(before.pairs_);
    connections_.adopt(before.connections_);
  }

 private:
  [[nodiscard]] std::optional<std::uint16_t> lcore_of(std::uint32_t qpn) const {
    const std::uint16_t lcore = lcore_of_qpn(qpn);
    return lcore < lcores_ ? std::optional(lcore) : std::nullopt;
  }
  [[nodiscard]] bool takes(std::uint16_t port) const { return (ports_ >> port & 1) != 0; }
  // The headers up to the aggregation header.
  DropReason admit(std::uint16_t port, const wire::RoceView& view) const;
  // A management datagram to queue pair 1, which comes back in `mad`.
  DropReason read_mad(std::uint16_t port, const Classified& frame,
                      std::span<const std::byte>& mad) const;

  std::uint32_t ports_ = 0;  // a bit for each port that takes RDMA
  wire::MacAddress mac_{};
  std::uint32_t ipv4_ = 0;
  JobOwners owners_;
  QueuePairs pairs_;
  RdmaCopies copies_;
  CmResponder cm_;
  std::uint16_t lcores_;
  ConnectedRanks connections_;
};

}  // namespace tributary::dataplane
