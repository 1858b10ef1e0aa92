// What `tributary trace` says of packets by RDMA that are no SEND of an aggregation packet.
#include "control/capture/rdma_text.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "core/net/mad.h"

namespace tributary::control {
namespace {

using wire::roce_opcode;
using wire::RoceOperation;
using wire::RoceTransport;

// As a peer sends it, and as the switch reads it.
std::string text_of(wire::RoceHeaders headers, std::vector<std::byte> payload = {}) {
  headers.bth.pad = wire::roce_pad(payload.size());
  std::vector<std::byte> packet(wire::kBthBytes + 64);
  packet.resize(wire::write_roce(headers, packet));
  packet.insert(packet.end(), payload.begin(), payload.end());
  packet.resize(packet.size() + headers.bth.pad + wire::kIcrcBytes);
  wire::RoceView view;
  EXPECT_EQ(wire::parse_roce(packet, view), DropReason::none);
  return rdma_text(view);
}

wire::Bth bth_of(RoceTransport transport, RoceOperation operation) {
  wire::Bth bth;
  bth.opcode = roce_opcode(transport, operation);
  bth.qpn = 12;
  bth.psn = 7;
  return bth;
}

std::vector<std::byte> bytes(std::size_t count) {
  return std::vector<std::byte>(count);
}

TEST(RdmaText, T19_AWriteSaysWhereItGoes) {
  EXPECT_EQ(text_of({.bth = bth_of(RoceTransport::rc, RoceOperation::write_first),
                     .reth = {.address = 0x10000, .rkey = 0x2A, .length = 8192}},
                    bytes(4096)),
            "RC WRITE_FIRST of 4096 B, PSN 7 to qp 12, 8192 B at 0x10000, rkey 0x2a");
  EXPECT_EQ(text_of({.bth = bth_of(RoceTransport::uc, RoceOperation::write_middle)}, bytes(4096)),
            "UC WRITE_MIDDLE of 4096 B, PSN 7 to qp 12");
  EXPECT_EQ(text_of({.bth = bth_of(RoceTransport::uc, RoceOperation::write_last_immediate),
                     .immediate = 5},
                    bytes(10)),
            "UC WRITE_LAST of 10 B, PSN 7 to qp 12, immediate 5");
}

TEST(RdmaText, T19_AnAcknowledgementSaysWhatItIs) {
  const auto said = [](std::uint8_t syndrome) {
    return text_of({.bth = bth_of(RoceTransport::rc, RoceOperation::acknowledge),
                    .aeth = {.syndrome = syndrome, .msn = 3}});
  };
  EXPECT_EQ(said(0x1F), "ACK of PSN 7 to qp 12");
  EXPECT_EQ(said(0x2E), "RNR NAK of PSN 7 to qp 12");
  EXPECT_EQ(said(0x60), "NAK, PSN sequence error, of PSN 7 to qp 12");
  EXPECT_EQ(said(0x62), "NAK, remote access error, of PSN 7 to qp 12");
  EXPECT_EQ(said(0x7F), "NAK, unknown code, of PSN 7 to qp 12");
  EXPECT_EQ(said(0x40), "reserved acknowledgement of PSN 7 to qp 12");
}

TEST(RdmaText, T19_ConnectionsComeAndGoByName) {
  const auto said = [](wire::CmAttribute attribute, std::size_t length) {
    std::vector<std::byte> mad(length);
    const wire::MadHeader header = wire::cm_mad_header(1, attribute);
    std::memcpy(mad.data(), &header, sizeof header);
    wire::Bth bth = bth_of(RoceTransport::ud, RoceOperation::send_only);
    bth.qpn = wire::kGeneralServicesQp;
    return text_of({.bth = bth, .deth = {.qkey = 1, .source_qpn = 1}}, mad);
  };
  EXPECT_EQ(said(wire::CmAttribute::req, wire::kMadBytes), "CM REQ from qp 1 to qp 1");
  EXPECT_EQ(said(wire::CmAttribute::drep, wire::kMadBytes), "CM DREP from qp 1 to qp 1");
  EXPECT_EQ(said(wire::CmAttribute{0x99}, wire::kMadBytes), "CM message from qp 1 to qp 1");
  EXPECT_EQ(said(wire::CmAttribute::req, 100), "SEND of 100 B from qp 1 to qp 1");
}

TEST(RdmaText, EveryOpcodeHasALine) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    const wire::RoceShape* const shape = wire::roce_shape(static_cast<std::uint8_t>(opcode));
    if (shape == nullptr) continue;
    wire::RoceView view;
    view.bth.opcode = static_cast<std::uint8_t>(opcode);
    view.shape = *shape;
    EXPECT_NE(rdma_text(view).find(" to qp 0"), std::string::npos) << opcode;
    EXPECT_EQ(rdma_text(view).find("reserved operation"), std::string::npos) << opcode;
  }
}

}  // namespace
}  // namespace tributary::control
