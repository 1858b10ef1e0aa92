#include "core/net/cm.h"

#include <gtest/gtest.h>

#include <vector>

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

void put(std::span<std::byte> bytes, std::size_t at, std::initializer_list<int> values) {
  for (const int value : values) bytes[at++] = static_cast<std::byte>(value);
}
Bytes message(int attribute) {
  Bytes mad(kMadBytes);
  put(mad, 0, {1, 7, 2, 3});
  put(mad, 8, {1, 2, 3, 4, 5, 6, 7, 8});
  put(mad, 16, {0, attribute});
  put(mad, 24, {0xA, 0xB, 0xC, 0xD});
  return mad;
}

// Field positions of IBA volume 1, table 106 (REQ), written out independently of the code.
Bytes request() {
  Bytes mad = message(0x10);
  put(mad, 32, {0, 0, 0, 0, 1, 6, 0xB7, 0x98});  // RDMA_PS_TCP, port 47000
  put(mad, 56, {0, 0x12, 0x34, 5});              // queue pair, responder resources
  put(mad, 60, {0, 0, 0, 6});                    // initiator depth
  put(mad, 68, {0xAB, 0xCD, 0xEF, 0});           // starting PSN
  put(mad, 72, {0xFF, 0xFF, 5 << 4});            // P_Key, path MTU 4096
  put(mad, 164, {0, 0x40});                      // librdmacm's header: version 0, IPv4
  put(mad, 200, {'T', 'R', 'B', '2'});
  return mad;
}

TEST(Cm, ReadsARequest) {
  const Bytes mad = request();
  CmMessage m;
  ASSERT_EQ(parse_cm(mad, m), DropReason::none);
  EXPECT_EQ(m.type, CmAttribute::req);
  EXPECT_EQ(m.request.transaction, 0x0102030405060708u);
  EXPECT_EQ(m.request.id, 0x0A0B0C0Du);
  EXPECT_EQ(m.request.service, rdma_tcp_service(47000));
  EXPECT_EQ(m.request.qpn, 0x1234u);
  EXPECT_EQ(m.request.psn, 0xABCDEFu);
  EXPECT_EQ(m.request.transport, 0);
  EXPECT_EQ(m.request.path_mtu, 4096u);
  EXPECT_EQ(m.request.responder_resources, 5);
  EXPECT_EQ(m.request.initiator_depth, 6);
  EXPECT_EQ(m.request.pkey, 0xFFFF);
  ASSERT_EQ(m.request.data.size(), kReqDataBytes);
  EXPECT_EQ(m.request.data[3], std::byte{'2'});
}

TEST(Cm, TellsUcFromRc) {
  Bytes mad = request();
  put(mad, 67, {1 << 1});
  CmMessage m;
  ASSERT_EQ(parse_cm(mad, m), DropReason::none);
  EXPECT_EQ(m.request.transport, 1);
}

TEST(Cm, OtherMessagesNameBothEnds) {
  for (const int attribute : {0x11, 0x12, 0x13, 0x14, 0x15, 0x16}) {
    Bytes mad = message(attribute);
    put(mad, 28, {0, 0x40, 0, 7});
    CmMessage m;
    ASSERT_EQ(parse_cm(mad, m), DropReason::none) << attribute;
    EXPECT_EQ(static_cast<int>(m.type), attribute);
    EXPECT_EQ(m.ids.sender, 0x0A0B0C0Du);
    EXPECT_EQ(m.ids.receiver, 0x400007u);
  }
}

TEST(Cm, RefusesWhatIsNone) {
  CmMessage m;
  for (const int attribute : {0x17, 0x18, 0x19, 0x0F, 0})
    EXPECT_EQ(parse_cm(message(attribute), m), DropReason::unhandled) << attribute;
  for (const std::size_t at : {0u, 1u, 2u, 3u, 164u, 165u, 74u}) {
    Bytes mad = request();
    mad[at] ^= std::byte{0xF0};
    EXPECT_EQ(parse_cm(mad, m), DropReason::cm_malformed) << at;
  }
  Bytes mad = request();
  put(mad, 74, {0});
  EXPECT_EQ(parse_cm(mad, m), DropReason::cm_malformed) << "no path MTU";
  mad.pop_back();
  EXPECT_EQ(parse_cm(mad, m), DropReason::cm_malformed);
  EXPECT_EQ(parse_cm({}, m), DropReason::cm_malformed);
}

TEST(Cm, WritesAReply) {
  const std::array<std::byte, 2> data = {std::byte{0x55}, std::byte{0x66}};
  const Mad mad = write_cm_reply({.ids = {0x0102030405060708, 0x400001, 0x0A0B0C0D},
                                  .qpn = 0x400001,
                                  .psn = 0x00BEEF,
                                  .ca_guid = 0x1112131415161718,
                                  .responder_resources = 3,
                                  .initiator_depth = 4,
                                  .data = data});
  Bytes expected = message(0x13);
  put(expected, 24, {0, 0x40, 0, 1, 0xA, 0xB, 0xC, 0xD});
  put(expected, 36, {0x40, 0, 1});
  put(expected, 44, {0, 0xBE, 0xEF});
  put(expected, 48, {3, 4, 0, 7 << 5});
  put(expected, 52, {0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18});
  put(expected, 60, {0x55, 0x66});
  EXPECT_EQ(Bytes(mad.begin(), mad.end()), expected);
}

TEST(Cm, WritesRefusalsAndEnds) {
  const std::array<std::byte, 1> data = {std::byte{'x'}};
  const CmIds ids = {0x0102030405060708, 7, 0x0A0B0C0D};
  Bytes expected = message(0x12);
  put(expected, 24, {0, 0, 0, 7, 0xA, 0xB, 0xC, 0xD});
  put(expected, 34, {0, 28});
  put(expected, 108, {'x'});
  const Mad rej = write_cm_reject(ids, CmReject::consumer, data);
  EXPECT_EQ(Bytes(rej.begin(), rej.end()), expected);

  expected = message(0x15);
  put(expected, 24, {0, 0, 0, 7, 0xA, 0xB, 0xC, 0xD, 0, 0, 0x11, 0, 'x'});
  const Mad dreq = write_cm_disconnect(ids, 0x11, data);
  EXPECT_EQ(Bytes(dreq.begin(), dreq.end()), expected);

  expected = message(0x16);
  put(expected, 24, {0, 0, 0, 7, 0xA, 0xB, 0xC, 0xD});
  const Mad drep = write_cm_disconnected(ids);
  EXPECT_EQ(Bytes(drep.begin(), drep.end()), expected);
}

}  // namespace
}  // namespace tributary::wire
