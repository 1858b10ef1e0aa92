#include "core/net/sidr.h"

#include <algorithm>
#include <cstring>

#include "core/net/byte_order.h"
#include "core/net/mad.h"

namespace tributary::wire {
namespace {

struct WireRequest {
  MadHeader mad;
  be32 id;
  be16 pkey;
  be16 reserved;
  be64 service;
  std::array<std::byte, kSidrRequestDataBytes> data;
};
static_assert(sizeof(WireRequest) == kMadBytes);

struct WireReply {
  MadHeader mad;
  be32 id;
  std::uint8_t status;
  std::uint8_t information_bytes;
  be16 reserved;
  be32 qpn;  // in the upper 24 bits
  be64 service;
  be32 qkey;
  std::array<std::byte, 72> information;
  std::array<std::byte, kSidrReplyDataBytes> data;
};
static_assert(sizeof(WireReply) == kMadBytes);

struct WireRank {
  be32 magic;
  be32 job;
  be32 rank;
};
static_assert(sizeof(WireRank) == RankRequest::kBytes);

constexpr std::uint32_t kMagic = 0x54524231;  // "TRB1"
constexpr int kIpv4 = 4;                      // the upper half of the second byte

}  // namespace

DropReason parse_sidr_request(std::span<const std::byte> mad, SidrRequest& request) {
  MadHeader header;
  if (!parse_cm_mad(mad, header)) return DropReason::cm_malformed;
  if (header.attribute != static_cast<std::uint16_t>(CmAttribute::sidr_req))
    return DropReason::unhandled;
  WireRequest w;
  std::memcpy(&w, mad.data(), sizeof w);
  if (std::to_integer<int>(w.data[0]) != 0 || std::to_integer<int>(w.data[1]) >> 4 != kIpv4)
    return DropReason::cm_malformed;
  request = {.transaction = w.mad.transaction,
             .id = w.id,
             .service = w.service,
             .data = mad.last(kSidrRequestDataBytes - kCmaHeaderBytes)};
  return DropReason::none;
}

std::array<std::byte, kMadBytes> write_sidr_reply(const SidrReply& reply) {
  WireReply w{};
  w.mad = cm_mad_header(reply.transaction, CmAttribute::sidr_rep);
  w.id = reply.id;
  w.status = static_cast<std::uint8_t>(reply.status);
  w.qpn = reply.qpn << 8;
  w.service = reply.service;
  w.qkey = reply.qkey;
  const std::size_t bytes = std::min(reply.data.size(), kSidrReplyDataBytes);
  std::copy_n(reply.data.begin(), bytes, w.data.begin());
  std::array<std::byte, kMadBytes> mad;
  std::memcpy(mad.data(), &w, sizeof w);
  return mad;
}

bool parse_rank_request(std::span<const std::byte> data, RankRequest& request) {
  WireRank w;
  if (data.size() < sizeof w) return false;
  std::memcpy(&w, data.data(), sizeof w);
  request = {w.job, w.rank};
  return w.magic == kMagic;
}

std::array<std::byte, RankRequest::kBytes> write_rank_request(const RankRequest& request) {
  const WireRank w{kMagic, request.job, request.rank};
  std::array<std::byte, RankRequest::kBytes> data;
  std::memcpy(data.data(), &w, sizeof w);
  return data;
}

}  // namespace tributary::wire
