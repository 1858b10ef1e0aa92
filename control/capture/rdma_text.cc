#include "control/capture/rdma_text.h"

#include <array>
#include <cstdint>
#include <cstdio>

#include "core/net/mad.h"

namespace tributary::control {
namespace {

using wire::RoceOperation;
using wire::RoceTransport;
using wire::RoceView;

// InfiniBand's names, by the lower five bits of an opcode.
constexpr std::array<const char*, 21> kOperations = {
    "SEND_FIRST",
    "SEND_MIDDLE",
    "SEND_LAST",
    "SEND_LAST",
    "SEND",
    "SEND",
    "WRITE_FIRST",
    "WRITE_MIDDLE",
    "WRITE_LAST",
    "WRITE_LAST",
    "WRITE",
    "WRITE",
    "READ_REQUEST",
    "READ_RESPONSE_FIRST",
    "READ_RESPONSE_MIDDLE",
    "READ_RESPONSE_LAST",
    "READ_RESPONSE",
    "ACK",
    "ATOMIC_ACK",
    "COMPARE_SWAP",
    "FETCH_ADD",
};

const char* transport_of(std::uint8_t opcode) {
  switch (static_cast<RoceTransport>(opcode >> 5)) {
    case RoceTransport::rc: return "RC ";
    case RoceTransport::uc: return "UC ";
    case RoceTransport::rd:
    case RoceTransport::ud: break;
  }
  return "";
}

// The syndrome's upper bits say what it is (IBA volume 1, 9.7.5.2.1), the lower five how.
std::string acknowledgement(std::uint8_t syndrome) {
  constexpr std::array<const char*, 5> kCodes = {"PSN sequence error", "invalid request",
                                                 "remote access error", "remote operational error",
                                                 "invalid RD request"};
  const std::uint8_t how = syndrome & 0x1F;
  switch (syndrome >> 5 & 3) {
    case 0: return "ACK";
    case 1: return "RNR NAK";
    case 3:
      return std::string("NAK, ") + (how < kCodes.size() ? kCodes[how] : "unknown code") + ",";
    default: return "reserved acknowledgement";
  }
}

const char* name_of(wire::CmAttribute attribute) {
  switch (attribute) {
    case wire::CmAttribute::req: return "REQ";
    case wire::CmAttribute::mra: return "MRA";
    case wire::CmAttribute::rej: return "REJ";
    case wire::CmAttribute::rep: return "REP";
    case wire::CmAttribute::rtu: return "RTU";
    case wire::CmAttribute::dreq: return "DREQ";
    case wire::CmAttribute::drep: return "DREP";
    case wire::CmAttribute::sidr_req: return "SIDR_REQ";
    case wire::CmAttribute::sidr_rep: return "SIDR_REP";
  }
  return "message";
}

// The connection manager's message; empty: another datagram.
std::string management(const RoceView& packet) {
  wire::MadHeader header;
  if (packet.bth.qpn != wire::kGeneralServicesQp || !wire::parse_cm_mad(packet.payload, header))
    return "";
  return std::string("CM ") +
         name_of(static_cast<wire::CmAttribute>(std::uint16_t{header.attribute}));
}

std::string data(const RoceView& packet) {
  const unsigned operation = packet.bth.opcode & 0x1Fu;
  std::string text = transport_of(packet.bth.opcode);
  text += operation < kOperations.size() ? kOperations[operation] : "reserved operation";
  if (packet.shape.payload)
    text.append(" of ").append(std::to_string(packet.payload.size())).append(" B");
  return text;
}

}  // namespace

std::string rdma_text(const RoceView& packet) {
  std::string text;
  if (packet.bth.opcode == wire::kCnp)
    text = "CNP";
  else if (packet.shape.deth)
    text = management(packet);
  else if (packet.shape.aeth && !packet.shape.payload)
    text = acknowledgement(packet.aeth.syndrome) + " of PSN " + std::to_string(packet.bth.psn);
  if (text.empty()) {
    text = data(packet);
    if (!packet.shape.deth) text.append(", PSN ").append(std::to_string(packet.bth.psn));
  }
  if (packet.shape.deth) text.append(" from qp ").append(std::to_string(packet.deth.source_qpn));
  text.append(" to qp ").append(std::to_string(packet.bth.qpn));
  if (packet.shape.reth) {
    char place[96];
    std::snprintf(place, sizeof place, ", %u B at 0x%llx, rkey 0x%x", packet.reth.length,
                  static_cast<unsigned long long>(packet.reth.address), packet.reth.rkey);
    text += place;
  }
  if (packet.shape.immediate) text.append(", immediate ").append(std::to_string(packet.immediate));
  return text;
}

}  // namespace tributary::control
