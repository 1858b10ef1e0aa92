#include "telemetry/wire/report.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/telemetry/wire/frames.h"

namespace tributary::telemetry {
namespace {

using namespace test;

// 20 bytes of IPv4 and 20 of TCP; their contents mean nothing to a report.
Bytes ip_and_tcp() {
  Bytes packet(40, std::byte{0xAB});
  packet[0] = std::byte{0x45};
  return packet;
}

Bytes written(const ReportGroup& group, const Report& report, const Hop& hop) {
  Bytes buffer(1500);
  ReportWriter writer(group, buffer);
  EXPECT_TRUE(writer.add(report, hop));
  buffer.resize(writer.length());
  return buffer;
}

TEST(Report, C7_ALinksLatencyIsDomainMetadataBehindTheBaseline) {
  Report report;
  report.bitmap = kPorts;
  Hop hop;
  hop.ingress_port = kUnknown16;
  hop.egress_port = 6;
  Bytes buffer(1500);
  ReportWriter writer({9, 1, 7}, buffer);
  ASSERT_TRUE(writer.add(report, hop, {.link_latency = 5'000'000}));
  ASSERT_TRUE(writer.add(report, hop));
  buffer.resize(writer.length());
  EXPECT_EQ(buffer, from_hex("22400001 00000007"
                             "10 04 02 00  4000 5452  8000 0000  ffff 0006 004c4b40"
                             "10 03 01 00  4000 0000  0000 0000  ffff 0006"));
  ReportReader reader(buffer);
  Report read;
  ASSERT_TRUE(reader.next(read));
  EXPECT_EQ(read.link_latency(), 5'000'000u);
  EXPECT_EQ(read.hop(7).egress_port, 6);
  ASSERT_TRUE(reader.next(read));
  EXPECT_EQ(read.link_latency(), std::nullopt);
  read.domain = kOwnDomain;
  read.domain_bitmap = kLinkLatency;
  EXPECT_EQ(read.link_latency(), std::nullopt) << "the word is missing";
}

TEST(Report, C7_AnOpsEndIsDomainMetadataToo) {
  constexpr OpEnd kEnd{0x01020304, 0xA0B0C0D0, 0x1122, 3, 4};
  Report report;
  report.bitmap = kPorts;
  Bytes buffer(1500);
  ReportWriter writer({9, 1, 7}, buffer);
  ASSERT_TRUE(writer.add(report, {}, {.op_end = kEnd}));
  buffer.resize(writer.length());
  EXPECT_EQ(buffer, from_hex("22400001 00000007"
                             "10 06 04 00  4000 5452  4000 0000  ffff ffff"
                             "01020304 a0b0c0d0 1122 03 04"));
  ReportReader reader(buffer);
  Report read;
  ASSERT_TRUE(reader.next(read));
  EXPECT_EQ(read.op_end(), kEnd);
  EXPECT_EQ(read.link_latency(), std::nullopt);
  Report cut = read;
  cut.own = cut.own.first(12);
  EXPECT_EQ(cut.op_end(), std::nullopt) << "a word is missing";
  read.domain = 1;
  EXPECT_EQ(read.op_end(), std::nullopt) << "another domain's";
}

// Telemetry report v2.0, "Example with Baseline Metadata and Truncated IPv4".
TEST(Report, C6_SpecificationsExampleWithTruncatedPacket) {
  const Bytes packet = ip_and_tcp();
  Report report;
  report.inner_type = InnerType::ipv4;
  report.tracked = true;
  report.bitmap = kPorts | kQueue;
  report.inner = packet;
  Hop hop;
  hop.ingress_port = 5;
  hop.egress_port = 6;
  hop.queue = 0;
  hop.queue_occupancy = 0x123456;
  const ReportGroup group{9, 0x3ABCDE, 0xC0FFEE01};
  Bytes expected = from_hex(
      "227abcde c0ffee01"
      "14 0e 02 20  5000 0000  0000 0000  0005 0006 00123456");
  expected.insert(expected.end(), packet.begin(), packet.end());
  const Bytes datagram = written(group, report, hop);
  EXPECT_EQ(datagram, expected);

  ReportReader reader(datagram);
  ASSERT_EQ(reader.group(), group);
  Report read;
  ASSERT_TRUE(reader.next(read));
  EXPECT_TRUE(read.tracked);
  EXPECT_FALSE(read.dropped || read.congested || read.intermediate);
  EXPECT_EQ(Bytes(read.inner.begin(), read.inner.end()), packet);
  hop.node = group.node;
  EXPECT_EQ(read.hop(group.node), hop);
  EXPECT_FALSE(reader.next(read));
  EXPECT_FALSE(reader.malformed());
}

// "Example with Baseline Metadata, Domain Specific Metadata, DS Extension Data and Truncated IPv4":
// what is of a domain is passed over.
TEST(Report, ReadsTheSpecificationsExampleWithDomainMetadata) {
  const Bytes datagram = from_hex(
      "20000007 00000003"
      "11 0a 03 20  5000 00aa  8000 0000  0005 0006 00000009  11223344"
      "00 01 0000 deadbeef  20 02 0000 45000000 00000000");
  ReportReader reader(datagram);
  Report read;
  ASSERT_TRUE(reader.next(read));
  EXPECT_EQ(read.inner_type, InnerType::tlv);
  EXPECT_EQ(read.domain, 0xAA);
  EXPECT_EQ(read.domain_bitmap, 0x8000);
  EXPECT_EQ(read.own.size(), 12u);
  EXPECT_EQ(read.hop(3).egress_port, 6);
  EXPECT_EQ(read.inner.size(), 20u);
  EXPECT_FALSE(reader.next(read));
  EXPECT_FALSE(reader.malformed());
}

TEST(Report, CoalescesUntilTheBufferIsFull) {
  Bytes buffer(kGroupBytes + 3 * (kReportHeaderBytes + kReportMainBytes + 4) + 3);
  ReportWriter writer({0, 1, 2}, buffer);
  Report report;
  report.bitmap = kHopLatency;
  Hop hop;
  int fit = 0;
  for (; writer.add(report, hop); ++fit) hop.latency_ns = static_cast<std::uint32_t>(fit + 1);
  EXPECT_EQ(fit, 3);
  ReportReader reader{std::span(buffer).first(writer.length())};
  int read = 0;
  for (Report next; reader.next(next); ++read)
    EXPECT_EQ(next.hop(2).latency_ns, read == 0 ? kUnknown32 : static_cast<std::uint32_t>(read));
  EXPECT_EQ(read, 3);
}

TEST(Report, PadsATruncatedPacketToWholeWords) {
  const Bytes packet(41, std::byte{1});
  Report report;
  report.inner_type = InnerType::ipv6;
  report.inner = packet;
  const Bytes datagram = written({}, report, {});
  ReportReader reader(datagram);
  Report read;
  ASSERT_TRUE(reader.next(read));
  ASSERT_EQ(read.inner.size(), 44u);
  EXPECT_EQ(read.inner[41], std::byte{0});
}

TEST(Report, RefusesWhatWouldNotFitItsLength) {
  Bytes buffer(4000);
  const Bytes packet(4 * 253, std::byte{1});
  Report report;
  report.inner_type = InnerType::ipv4;
  report.inner = packet;
  ReportWriter writer({}, buffer);
  EXPECT_FALSE(writer.add(report, {}));
  report.inner = std::span(packet).first(4 * 252);
  EXPECT_TRUE(writer.add(report, {}));
}

// 255 words: to the end of the datagram.
TEST(Report, LongestLengthReachesToTheEnd) {
  Bytes datagram = from_hex("20000000 00000001 13ff0000 0000 0000 0000 0000");
  datagram.resize(datagram.size() + 1200, std::byte{7});
  ReportReader reader(datagram);
  Report read;
  ASSERT_TRUE(reader.next(read));
  EXPECT_EQ(read.inner.size(), 1200u);
  EXPECT_FALSE(reader.next(read));
}

TEST(Report, RefusesLengthsThatCannotBe) {
  const auto fails = [](std::string_view text) {
    const Bytes datagram = from_hex(text);
    ReportReader reader(datagram);
    Report read;
    return !reader.next(read) && reader.malformed();
  };
  EXPECT_TRUE(fails("20000000 00000001 1403"));                                 // no header
  EXPECT_TRUE(fails("20000000 00000001 14030000 00000000"));                    // body cut off
  EXPECT_TRUE(fails("20000000 00000001 14010000 00000000"));                    // no room for main
  EXPECT_TRUE(fails("20000000 00000001 14020100 00000000 00000000"));           // metadata cut off
  EXPECT_TRUE(fails("20000000 00000001 14030100 08000000 00000000 00000000"));  // 8 B in 4
  const Bytes another = from_hex("10000000 00000001 00000000");
  EXPECT_FALSE(ReportReader(another).group());
  EXPECT_FALSE(ReportReader(std::span(another).first(7)).group());
}

}  // namespace
}  // namespace tributary::telemetry
