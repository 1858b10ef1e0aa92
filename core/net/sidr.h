// Service id resolution of InfiniBand's communication manager (IBA volume 1, 12.11), as librdmacm
// uses it for UD queue pairs: one management datagram each way, at queue pair 1.
//
//   SIDR_REQ: service id, private data ─▶        rdma_connect() of a datagram id
//   ◀─ SIDR_REP: queue pair and Q_Key, or why not
//
// librdmacm puts a header of 36 bytes with both IP addresses in front of the caller's private data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/drop_reason.h"
#include "core/net/mad.h"

namespace tributary::wire {

inline constexpr std::size_t kCmaHeaderBytes = 36;
inline constexpr std::size_t kSidrRequestDataBytes = 216;  // librdmacm's header included
inline constexpr std::size_t kSidrReplyDataBytes = 136;

// The Q_Key of queue pairs in librdmacm's port space RDMA_PS_UDP, both ends.
inline constexpr std::uint32_t kRdmaCmQkey = 0x01234567;
// The service id of a port in that port space.
constexpr std::uint64_t rdma_cm_service(std::uint16_t port) {
  return 0x0000000001110000ULL | port;
}

struct SidrRequest {
  std::uint64_t transaction = 0;
  std::uint32_t id = 0;
  std::uint64_t service = 0;
  std::span<const std::byte> data;  // the caller's: behind librdmacm's header
};
// `mad` is the payload of a SEND to queue pair 1. none, and `request` is one over IPv4; unhandled:
// another message than SIDR_REQ; else cm_malformed.
DropReason parse_sidr_request(std::span<const std::byte> mad, SidrRequest& request);

// As the table of SIDR_REP's status has them; librdmacm hands them to the caller.
enum class SidrStatus : std::uint8_t { valid = 0, no_service = 1, rejected = 2, no_queue_pair = 3 };

struct SidrReply {
  std::uint64_t transaction = 0;
  std::uint32_t id = 0;
  SidrStatus status = SidrStatus::valid;
  std::uint32_t qpn = 0;
  std::uint64_t service = 0;
  std::uint32_t qkey = 0;
  std::span<const std::byte> data = {};  // at most kSidrReplyDataBytes
};
std::array<std::byte, kMadBytes> write_sidr_reply(const SidrReply& reply);

// The private data of a rank's request, and of the switch's reply: which place in which job.
struct RankRequest {
  static constexpr std::size_t kBytes = 12;
  std::uint32_t job = 0;
  std::uint32_t rank = 0;
};
// "TRB1", job and rank, big-endian. False: another program's.
bool parse_rank_request(std::span<const std::byte> data, RankRequest& request);
std::array<std::byte, RankRequest::kBytes> write_rank_request(const RankRequest& request);

}  // namespace tributary::wire
