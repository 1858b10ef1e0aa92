#include "core/net/roce.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/net/frame.h"
#include "core/prng.h"

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

Bytes from_hex(const std::string& digits) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

// Frames that Scapy's roce contribution writes, ICRC included.
// Ether/IP(src="10.77.0.1", dst="10.77.0.254", id=0, flags="DF", tos=2)/UDP(sport=0xc001,
// chksum=0)/ BTH(opcode=0x64, migreq=1, padcount=3, dqpn=0x800005, psn=0xfffffe)/ Raw(DETH of Q_Key
// 0x01234567 and queue pair 0x11, then "hello" and its pad)
const Bytes kUdFrame = from_hex(
    "02740a4d00fe02000000000108004502003c00004000401125170a4d00010a4d00fec00112b7002800006470"
    "ffff0080000500fffffe012345670000001168656c6c6f0000003bac69fa");
// cnp(0x11)
const Bytes kCnpFrame = from_hex(
    "02740a4d00fe02000000000108004502003c00004000401125170a4d00010a4d00fec00112b7002800008100"
    "ffff40000011000000000000000000000000000000000000000041c56261");
// BTH(opcode=0x11, dqpn=0x12, psn=7)/AETH(syndrome=0x1f, msn=3)
const Bytes kAckFrame = from_hex(
    "02740a4d00fe02000000000108004502003000004000401125230a4d00010a4d00fec00112b7001c00001100"
    "ffff00000012000000071f0000034a45b5c5");

Bytes ip_of(const Bytes& frame) {
  return {frame.begin() + kEthernetBytes, frame.end()};
}
Bytes payload_of(const Bytes& frame) {
  return {frame.begin() + kUdpPayloadOffset, frame.end()};
}

TEST(Roce, ReadsWhatScapyWrites) {
  RoceView view;
  const Bytes ud = payload_of(kUdFrame);
  ASSERT_EQ(parse_roce(ud, view), DropReason::none);
  EXPECT_EQ(view.bth, (Bth{.pad = 3, .qpn = 0x800005, .psn = 0xFFFFFE}));
  EXPECT_EQ(view.deth, (Deth{0x01234567, 0x11}));
  EXPECT_EQ(view.payload.size(), 5u);
  EXPECT_EQ(view.payload[0], std::byte{'h'});
  EXPECT_EQ(peek_qpn(ud), 0x800005u);
  EXPECT_EQ(peek_ud_payload(ud).data(), view.payload.data());

  const Bytes cnp = payload_of(kCnpFrame);
  ASSERT_EQ(parse_roce(cnp, view), DropReason::none);
  EXPECT_TRUE(view.bth.becn);
  EXPECT_EQ(view.payload.size(), 16u);

  const Bytes ack = payload_of(kAckFrame);
  ASSERT_EQ(parse_roce(ack, view), DropReason::none);
  EXPECT_EQ(view.aeth, (Aeth{0x1F, 3}));
}

TEST(Roce, WritesWhatScapyWrites) {
  Bytes out(kBthBytes + kDethBytes);
  const RoceHeaders ud{.bth = {.pad = 3, .qpn = 0x800005, .psn = 0xFFFFFE},
                       .deth = {0x01234567, 0x11}};
  ASSERT_EQ(write_roce(ud, out), out.size());
  EXPECT_EQ(out, Bytes(kUdFrame.begin() + kUdpPayloadOffset,
                       kUdFrame.begin() + kUdpPayloadOffset + kBthBytes + kDethBytes));
  const RoceHeaders ack{.bth = {.opcode = 0x11, .migrated = false, .qpn = 0x12, .psn = 7},
                        .aeth = {0x1F, 3}};
  out.resize(kBthBytes + kAethBytes);
  ASSERT_EQ(write_roce(ack, out), out.size());
  EXPECT_EQ(out, Bytes(kAckFrame.begin() + kUdpPayloadOffset, kAckFrame.end() - kIcrcBytes));
}

TEST(Roce, Icrc) {
  for (const Bytes& frame : {kUdFrame, kCnpFrame, kAckFrame}) {
    Bytes ip = ip_of(frame);
    EXPECT_TRUE(icrc_ok(ip));
    Bytes sealed = ip;
    std::fill(sealed.end() - kIcrcBytes, sealed.end(), std::byte{0});
    seal_icrc(sealed);
    EXPECT_EQ(sealed, ip);
  }
}

// What a router changes, and a congested one marks, is not covered; any other bit is.
TEST(Roce, IcrcCoversAllButWhatRoutersChange) {
  const Bytes good = ip_of(kUdFrame);
  for (std::size_t at = 0; at < good.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      Bytes bad = good;
      bad[at] ^= static_cast<std::byte>(1 << bit);
      const bool changes = at == 1 || at == 8 || at == 10 || at == 11 || at == 26 || at == 27 ||
                           at == kIpv4Bytes + kUdpBytes + 4;
      EXPECT_EQ(icrc_ok(bad), changes) << "byte " << at;
    }
}

TEST(Roce, WritesAndReadsEveryOpcode) {
  for (unsigned opcode = 0; opcode < 256; ++opcode) {
    RoceHeaders h{.bth = {.opcode = static_cast<std::uint8_t>(opcode),
                          .solicited = true,
                          .pkey = 0x8123,
                          .fecn = true,
                          .qpn = 0xABCDEF,
                          .acknowledge = true,
                          .psn = kMaxQpn},
                  .deth = {0xDEADBEEF, 0x123456},
                  .reth = {0x0102030405060708, 0x11223344, 0x55667788},
                  .aeth = {0x60, 0x654321},
                  .immediate = 0xCAFEF00D};
    Bytes packet(64);
    const std::size_t head = write_roce(h, packet);
    const auto* const shape = roce_shape(h.bth.opcode);
    ASSERT_EQ(head != 0, shape != nullptr) << opcode;
    if (!shape) continue;
    EXPECT_EQ(write_roce(h, std::span(packet).first(head - 1)), 0u);
    packet.resize(head + (shape->payload ? 16 : 0) + kIcrcBytes);
    RoceView view;
    ASSERT_EQ(parse_roce(packet, view), DropReason::none) << opcode;
    EXPECT_EQ(view.bth, h.bth);
    if (shape->deth) {
      EXPECT_EQ(view.deth, h.deth);
    }
    if (shape->reth) {
      EXPECT_EQ(view.reth, h.reth);
    }
    if (shape->aeth) {
      EXPECT_EQ(view.aeth, h.aeth);
    }
    if (shape->immediate) {
      EXPECT_EQ(view.immediate, h.immediate);
    }
    EXPECT_EQ(view.payload.size(), shape->payload ? 16u : 0u);
  }
}

// Every length of every opcode, with every pad: what is taken lies inside.
TEST(Roce, HostileLengths) {
  Prng random(7);
  for (unsigned opcode = 0; opcode < 256; ++opcode)
    for (std::size_t length = 0; length <= 80; ++length) {
      Bytes packet(length);
      for (std::byte& byte : packet) byte = static_cast<std::byte>(random.below(256));
      if (length > 0) packet[0] = static_cast<std::byte>(opcode);
      if (length > 1) packet[1] &= std::byte{0xF0};
      RoceView view;
      const DropReason reason = parse_roce(packet, view);
      if (reason != DropReason::none) {
        EXPECT_TRUE(reason == DropReason::roce_malformed || reason == DropReason::rdma_opcode);
        continue;
      }
      ASSERT_GE(length, view.shape.header_bytes() + view.payload.size() + kIcrcBytes);
      EXPECT_EQ((view.payload.size() + view.bth.pad) % 4, 0u);
    }
}

TEST(Roce, RefusesOtherVersionsAndPads) {
  RoceView view;
  Bytes packet = payload_of(kUdFrame);
  packet[1] |= std::byte{1};
  EXPECT_EQ(parse_roce(packet, view), DropReason::roce_malformed) << "transport version 1";
  // A pad longer than what is there: a SEND without payload.
  Bytes empty(kUdOverheadBytes);
  ASSERT_NE(write_roce({.bth = {.pad = 3}}, empty), 0u);
  EXPECT_EQ(parse_roce(empty, view), DropReason::roce_malformed);
  // Without padding the packet does not end at a word.
  EXPECT_EQ(parse_roce(std::span(packet).first(packet.size() - 1), view),
            DropReason::roce_malformed);
}

TEST(Roce, PeeksOnlyWhatIsThere) {
  const Bytes ud = payload_of(kUdFrame);
  for (std::size_t length = 0; length < kBthBytes + kIcrcBytes; ++length)
    EXPECT_EQ(peek_qpn(std::span(ud).first(length)), std::nullopt);
  for (std::size_t length = 0; length < kBthBytes + kDethBytes; ++length)
    EXPECT_TRUE(peek_ud_payload(std::span(ud).first(length)).empty());
}

}  // namespace
}  // namespace tributary::wire
