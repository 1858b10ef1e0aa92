// The connection manager's messages for connected queue pairs (IBA volume 1, 12.6), as librdmacm
// uses them in port spaces RDMA_PS_TCP (RC) and RDMA_PS_IB (RC, UC): one management datagram each,
// at queue pair 1.
//
//   REQ ─▶ ◀─ REP, RTU ─▶      or ◀─ REJ, with a reason
//   DREQ ─▶ ◀─ DREP            either end
//
// A communication id names one end of a connection to the other end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/drop_reason.h"
#include "core/net/mad.h"

namespace tributary::wire {

// The service id of a port in librdmacm's port space RDMA_PS_TCP.
constexpr std::uint64_t rdma_tcp_service(std::uint16_t port) {
  return 0x0000000001060000ULL | port;
}

// The same in port space RDMA_PS_IB, in which librdmacm makes UC queue pairs.
constexpr std::uint64_t rdma_ib_service(std::uint16_t port) {
  return 0x00000000013F0000ULL | port;
}

inline constexpr std::size_t kReqDataBytes = 56;  // behind librdmacm's header
inline constexpr std::size_t kRejDataBytes = 148;

// The fields of REQ that an end point needs.
struct CmRequest {
  std::uint64_t transaction = 0;
  std::uint32_t id = 0;  // the sender's communication id
  std::uint64_t service = 0;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;       // with which the receiver is to begin
  std::uint8_t transport = 0;  // 0: RC, 1: UC
  std::uint32_t path_mtu = 0;  // bytes of payload
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint16_t pkey = 0;
  std::span<const std::byte> data = {};  // the program's
};

// RTU, REP, REJ, DREQ and DREP name both ends.
struct CmIds {
  std::uint64_t transaction = 0;
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
};

struct CmMessage {
  CmAttribute type = CmAttribute::req;
  CmRequest request;  // of REQ
  CmIds ids;          // of the others
};
// `mad` is the payload of a SEND to queue pair 1. none, and `message` is one of REQ, MRA, REJ, REP,
// RTU, DREQ and DREP; unhandled: another message; else cm_malformed.
DropReason parse_cm(std::span<const std::byte> mad, CmMessage& message);

struct CmReply {
  CmIds ids;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;      // with which the receiver is to begin
  std::uint64_t ca_guid = 0;  // the same for all queue pairs of a node
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::span<const std::byte> data = {};  // at most 196 bytes
};
Mad write_cm_reply(const CmReply& reply);

// The reasons of REJ; librdmacm hands the number to the program as the event's status.
enum class CmReject : std::uint16_t {
  no_resources = 3,
  invalid_service = 8,
  invalid_transport = 9,
  stale_connection = 10,
  invalid_mtu = 26,
  consumer = 28,
};
// The answer to a REQ. `data`: at most kRejDataBytes, which the program gets as private data.
Mad write_cm_reject(const CmIds& ids, CmReject reason, std::span<const std::byte> data);

Mad write_cm_disconnect(const CmIds& ids, std::uint32_t remote_qpn,
                        std::span<const std::byte> data);
Mad write_cm_disconnected(const CmIds& ids);

}  // namespace tributary::wire
