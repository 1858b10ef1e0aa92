#include "core/net/cm.h"

#include <algorithm>
#include <cstring>

#include "core/net/byte_order.h"
#include "core/net/sidr.h"

namespace tributary::wire {
namespace {

using Gid = std::array<std::uint8_t, 16>;

struct WireReq {
  MadHeader mad;
  be32 id;
  be32 reserved_4;
  be64 service;
  be64 ca_guid;
  be32 reserved_24;
  be32 qkey;
  be32 qpn_resources;  // local queue pair 24, responder resources 8
  be32 eecn_depth;     // 24, initiator depth 8
  be32 remote_eecn;    // 24, response timeout 5, transport 2, flow control 1
  be32 psn;            // 24, response timeout 5, retries 3
  be16 pkey;
  std::uint8_t mtu;  // 4, RDC 1, RNR retries 3
  std::uint8_t retries;
  be16 local_lid;
  be16 remote_lid;
  Gid local_gid;
  Gid remote_gid;
  be32 flow_rate;
  be32 traffic;
  std::array<std::uint8_t, 44> alternate;  // the second path
  std::array<std::byte, kCmaHeaderBytes + kReqDataBytes> data;
};
static_assert(sizeof(WireReq) == kMadBytes);

struct WireIds {
  MadHeader mad;
  be32 sender;
  be32 receiver;
};
struct WireRep {
  WireIds ids;
  be32 qkey;
  be32 qpn;  // in the upper 24 bits, as are the next two
  be32 eecn;
  be32 psn;
  std::uint8_t responder_resources;
  std::uint8_t initiator_depth;
  std::uint8_t ack_delay;
  std::uint8_t rnr_retries;  // 3, in the upper bits
  be64 ca_guid;
  std::array<std::byte, 196> data;
};
static_assert(sizeof(WireRep) == kMadBytes);
struct WireRej {
  WireIds ids;
  std::uint8_t message;  // 2, in the upper bits; 0: REQ
  std::uint8_t information_bytes;
  be16 reason;
  std::array<std::byte, 72> information;
  std::array<std::byte, kRejDataBytes> data;
};
static_assert(sizeof(WireRej) == kMadBytes);
struct WireDreq {
  WireIds ids;
  be32 qpn;  // in the upper 24 bits
  std::array<std::byte, 220> data;
};
static_assert(sizeof(WireDreq) == kMadBytes);

constexpr int kIpv4 = 4;
constexpr std::uint8_t kRetryForEver = 7;

template <typename T>
Mad bytes_of(const T& message) {
  static_assert(sizeof(T) == kMadBytes);
  Mad mad;
  std::memcpy(mad.data(), &message, sizeof message);
  return mad;
}

WireIds ids_of(const CmIds& ids, CmAttribute attribute) {
  return {cm_mad_header(ids.transaction, attribute), ids.sender, ids.receiver};
}

template <std::size_t N>
void copy_data(std::span<const std::byte> data, std::array<std::byte, N>& into) {
  std::copy_n(data.begin(), std::min(data.size(), N), into.begin());
}

DropReason parse_req(std::span<const std::byte> mad, CmRequest& request) {
  WireReq w;
  std::memcpy(&w, mad.data(), sizeof w);
  if (std::to_integer<int>(w.data[0]) != 0 || std::to_integer<int>(w.data[1]) >> 4 != kIpv4)
    return DropReason::cm_malformed;
  const std::uint32_t mtu = w.mtu >> 4;
  if (mtu < 1 || mtu > 5) return DropReason::cm_malformed;
  request = {.transaction = w.mad.transaction,
             .id = w.id,
             .service = w.service,
             .qpn = w.qpn_resources >> 8,
             .psn = w.psn >> 8,
             .transport = static_cast<std::uint8_t>(w.remote_eecn >> 1 & 3),
             .path_mtu = 128u << mtu,
             .responder_resources = static_cast<std::uint8_t>(w.qpn_resources),
             .initiator_depth = static_cast<std::uint8_t>(w.eecn_depth),
             .pkey = w.pkey,
             .data = mad.last(kReqDataBytes)};
  return DropReason::none;
}

}  // namespace

DropReason parse_cm(std::span<const std::byte> mad, CmMessage& message) {
  MadHeader header;
  if (!parse_cm_mad(mad, header)) return DropReason::cm_malformed;
  const std::uint16_t attribute = header.attribute;
  if (attribute < static_cast<std::uint16_t>(CmAttribute::req) ||
      attribute > static_cast<std::uint16_t>(CmAttribute::drep))
    return DropReason::unhandled;
  message.type = static_cast<CmAttribute>(attribute);
  if (message.type == CmAttribute::req) return parse_req(mad, message.request);
  WireIds w;
  std::memcpy(&w, mad.data(), sizeof w);
  message.ids = {w.mad.transaction, w.sender, w.receiver};
  return DropReason::none;
}

Mad write_cm_reply(const CmReply& reply) {
  WireRep w{};
  w.ids = ids_of(reply.ids, CmAttribute::rep);
  w.qpn = reply.qpn << 8;
  w.psn = reply.psn << 8;
  w.responder_resources = reply.responder_resources;
  w.initiator_depth = reply.initiator_depth;
  w.rnr_retries = kRetryForEver << 5;
  w.ca_guid = reply.ca_guid;
  copy_data(reply.data, w.data);
  return bytes_of(w);
}

Mad write_cm_reject(const CmIds& ids, CmReject reason, std::span<const std::byte> data) {
  WireRej w{};
  w.ids = ids_of(ids, CmAttribute::rej);
  w.reason = static_cast<std::uint16_t>(reason);
  copy_data(data, w.data);
  return bytes_of(w);
}

Mad write_cm_disconnect(const CmIds& ids, std::uint32_t remote_qpn,
                        std::span<const std::byte> data) {
  WireDreq w{};
  w.ids = ids_of(ids, CmAttribute::dreq);
  w.qpn = remote_qpn << 8;
  copy_data(data, w.data);
  return bytes_of(w);
}

Mad write_cm_disconnected(const CmIds& ids) {
  struct {
    WireIds ids;
    std::array<std::byte, 224> data;
  } w{};
  w.ids = ids_of(ids, CmAttribute::drep);
  return bytes_of(w);
}

}  // namespace tributary::wire
