#include "telemetry/wire/int_md.h"

#include <gtest/gtest.h>

#include "tests/telemetry/wire/frames.h"

namespace tributary::telemetry {
namespace {

using namespace test;

constexpr std::uint16_t kAll = kKnownInstructions & ~kChecksumComplement;
const Marking kByPortMark{5000, std::nullopt};
const Marking kByDscpMark{0, std::uint8_t{0x17}};

Hop hop_of(std::uint32_t node) {
  Hop hop;
  hop.node = node;
  hop.ingress_port = static_cast<std::uint16_t>(node + 1);
  hop.egress_port = static_cast<std::uint16_t>(node + 2);
  hop.latency_ns = node * 1000;
  hop.queue = 3;
  hop.queue_occupancy = node * 7;
  hop.ingress_ns = 0x1122334455667788 + node;
  hop.egress_ns = hop.ingress_ns + hop.latency_ns;
  hop.ingress_wide = node + 5;
  hop.egress_wide = node + 6;
  hop.utilisation_ppm = 250'000;
  hop.buffer = 9;
  return hop;
}

void expect_valid(const Buffer& buffer, bool checksum) {
  UdpPlace place;
  ASSERT_EQ(find_udp(buffer.now(), place), Outcome::done);  // the IPv4 header's checksum too
  const auto field = load<std::uint16_t>(buffer.now(), place.udp + 6);
  EXPECT_EQ(field, checksum ? udp_checksum(buffer.now(), place) : 0);
}

void round_trip(const FrameForm& form, const Marking& marking, unsigned hops) {
  const Bytes original = make_frame(form);
  Buffer buffer(original);
  ASSERT_EQ(insert_int(buffer.view, marking, kAll, 8, hop_of(1)), Outcome::done);
  expect_valid(buffer, form.checksum);
  for (std::uint32_t node = 2; node <= hops; ++node) {
    ASSERT_EQ(push_hop(buffer.view, marking, hop_of(node)), Outcome::done);
    expect_valid(buffer, form.checksum);
  }
  Taken taken;
  IntView view;
  ASSERT_EQ(strip_int(buffer.view, marking, taken, view), Outcome::done);
  EXPECT_EQ(buffer.now(), original);
  ASSERT_EQ(view.hops(), hops);
  EXPECT_EQ(view.header.remaining_hops, 8 - hops);
  for (unsigned i = 0; i < hops; ++i) EXPECT_EQ(view.hop(i), hop_of(hops - i));
}

TEST(IntMd, C6_StrippedFrameIsByteForByteTheOriginal) {
  for (const bool ipv6 : {false, true})
    for (unsigned tags = 0; tags <= 2; ++tags)
      for (const bool checksum : {false, true})
        for (const std::size_t payload : {0u, 1u, 31u, 32u, 1001u})
          for (const Marking& marking : {kByPortMark, kByDscpMark})
            for (unsigned hops = 1; hops <= 8; ++hops)
              round_trip({ipv6, tags, payload, checksum, 10, payload < 4 ? 7u : 0u}, marking, hops);
}

// Each payload that makes the checksum of the original, or of a packet with INT, all ones or close.
TEST(IntMd, ChecksumNeverBecomesZero) {
  for (unsigned word = 0; word <= 0xFFFF; ++word) {
    Bytes frame = make_frame({.payload = 4});
    store(frame, frame.size() - 2, static_cast<std::uint16_t>(word));
    UdpPlace place;
    ASSERT_EQ(find_udp(frame, place), Outcome::done);
    store(frame, place.udp + 6, udp_checksum(frame, place));
    Buffer buffer(frame, 64);
    ASSERT_EQ(insert_int(buffer.view, kByPortMark, kNodeId, 2, hop_of(4)), Outcome::done);
    expect_valid(buffer, true);
    Taken taken;
    IntView view;
    ASSERT_EQ(strip_int(buffer.view, kByPortMark, taken, view), Outcome::done);
    ASSERT_EQ(buffer.now(), frame);
  }
}

TEST(IntMd, DamageOnTheWayStaysVisible) {
  Bytes frame = make_frame({});
  frame.back() ^= std::byte{1};
  Buffer buffer(frame);
  ASSERT_EQ(insert_int(buffer.view, kByPortMark, kAll, 8, hop_of(1)), Outcome::done);
  UdpPlace place;
  ASSERT_EQ(find_udp(buffer.now(), place), Outcome::done);
  EXPECT_NE(load<std::uint16_t>(buffer.now(), place.udp + 6), udp_checksum(buffer.now(), place));
  Taken taken;
  IntView view;
  ASSERT_EQ(strip_int(buffer.view, kByPortMark, taken, view), Outcome::done);
  EXPECT_EQ(buffer.now(), frame);
}

// INT v2.1, "Example with INT-MD in-between UDP header and UDP payload".
TEST(IntMd, C5_SpecificationsExampleWithTwoHops) {
  Buffer buffer(make_frame({.payload = 4}));
  Hop first;
  first.node = 0x11;
  first.queue = 0;
  first.queue_occupancy = 0x22;
  Hop second = first;
  second.node = 0x33;
  second.queue_occupancy = 0x44;
  ASSERT_EQ(insert_int(buffer.view, kByPortMark, kNodeId | kQueue, 8, first), Outcome::done);
  ASSERT_EQ(push_hop(buffer.view, kByPortMark, second), Outcome::done);
  const Bytes expected = from_hex(
      "14 07 2328  20 00 02 06  9000 0000  0000 0000"
      "00000033 00000044 00000011 00000022");
  UdpPlace place;
  const Bytes frame = buffer.now();
  ASSERT_EQ(find_udp(frame, place), Outcome::done);
  EXPECT_EQ(load<std::uint16_t>(frame, place.udp + 2), 5000);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                         frame.begin() + static_cast<std::ptrdiff_t>(place.payload())));
}

TEST(IntMd, SourceStaysWithinTheMtu) {
  const Bytes frame = make_frame({.payload = 100});
  Buffer buffer(frame);
  const std::size_t needed = 20 + 8 + 100 + kIntFixedBytes + 4;
  buffer.view.mtu = needed - 1;
  EXPECT_EQ(insert_int(buffer.view, kByPortMark, kNodeId, 8, hop_of(1)), Outcome::exceeds_mtu);
  EXPECT_EQ(buffer.now(), frame);
  buffer.view.mtu = needed;
  EXPECT_EQ(insert_int(buffer.view, kByPortMark, kNodeId, 8, hop_of(1)), Outcome::done);
}

TEST(IntMd, TransitThatWouldExceedTheMtuSetsItsFlagAlone) {
  Buffer buffer(make_frame({}));
  ASSERT_EQ(insert_int(buffer.view, kByPortMark, kNodeId, 8, hop_of(1)), Outcome::done);
  const std::size_t before = buffer.view.length;
  UdpPlace place;
  ASSERT_EQ(find_udp(buffer.now(), place), Outcome::done);
  buffer.view.mtu = place.packet_bytes() + 3;
  EXPECT_EQ(push_hop(buffer.view, kByPortMark, hop_of(2)), Outcome::exceeds_mtu);
  EXPECT_EQ(buffer.view.length, before);
  expect_valid(buffer, true);
  Taken taken;
  IntView view;
  ASSERT_EQ(strip_int(buffer.view, kByPortMark, taken, view), Outcome::done);
  EXPECT_TRUE(view.header.mtu_exceeded);
  EXPECT_FALSE(view.header.hops_exceeded);
  EXPECT_EQ(view.header.remaining_hops, 7);
}

TEST(IntMd, HopLimitSetsItsFlagAlone) {
  const Bytes original = make_frame({});
  Buffer buffer(original);
  ASSERT_EQ(insert_int(buffer.view, kByDscpMark, kNodeId, 1, hop_of(1)), Outcome::done);
  EXPECT_EQ(push_hop(buffer.view, kByDscpMark, hop_of(2)), Outcome::hops_used_up);
  expect_valid(buffer, true);
  Taken taken;
  IntView view;
  ASSERT_EQ(strip_int(buffer.view, kByDscpMark, taken, view), Outcome::done);
  EXPECT_TRUE(view.header.hops_exceeded);
  EXPECT_EQ(view.hops(), 1u);
  EXPECT_EQ(buffer.now(), original);
}

// The length field has 8 bits: 255 words of header and stack.
TEST(IntMd, StackEndsBeforeItsLengthOverflows) {
  Buffer buffer(make_frame({}));
  ASSERT_EQ(insert_int(buffer.view, kByPortMark, kAll, 255, hop_of(1)), Outcome::done);
  unsigned hops = 1;
  while (push_hop(buffer.view, kByPortMark, hop_of(2)) == Outcome::done) ++hops;
  EXPECT_EQ(hops, (255 - 3) / words_of(kAll));
  EXPECT_EQ(push_hop(buffer.view, kByPortMark, hop_of(2)), Outcome::no_room);
  expect_valid(buffer, true);
}

TEST(IntMd, RefusesLengthsThatCannotBe) {
  Buffer good(make_frame({}));
  ASSERT_EQ(insert_int(good.view, kByPortMark, kNodeId | kQueue, 8, hop_of(1)), Outcome::done);
  UdpPlace place;
  ASSERT_EQ(find_udp(good.now(), place), Outcome::done);
  const std::size_t shim = place.payload();
  const auto outcome = [&](std::size_t at, unsigned value) {
    Buffer bent(good.now());
    bent.bytes[shim + at] = static_cast<std::byte>(value);
    const Bytes before = bent.now();
    Taken taken;
    IntView view;
    const Outcome result = strip_int(bent.view, kByPortMark, taken, view);
    EXPECT_EQ(bent.now(), before);
    EXPECT_EQ(push_hop(bent.view, kByPortMark, hop_of(2)), result);
    return result;
  };
  EXPECT_EQ(outcome(1, 2), Outcome::bad_stack);     // shorter than its own header
  EXPECT_EQ(outcome(1, 4), Outcome::bad_stack);     // half a hop
  EXPECT_EQ(outcome(1, 255), Outcome::truncated);   // more than the packet has
  EXPECT_EQ(outcome(0, 0x24), Outcome::bad_stack);  // INT-XD
  EXPECT_EQ(outcome(0, 0x18), Outcome::bad_stack);  // another L4 header follows
  EXPECT_EQ(outcome(4, 0x10), Outcome::bad_stack);  // version 1
  EXPECT_EQ(outcome(6, 1), Outcome::bad_stack);     // hop words below what the bitmap needs
  EXPECT_EQ(outcome(6, 0), Outcome::bad_stack);
}

TEST(IntMd, PadsDomainMetadataItDoesNotKnow) {
  Buffer buffer(make_frame({}));
  ASSERT_EQ(insert_int(buffer.view, kByPortMark, kNodeId | kQueue, 8, hop_of(1)), Outcome::done);
  UdpPlace place;
  ASSERT_EQ(find_udp(buffer.now(), place), Outcome::done);
  // As if another source had asked for one word of a domain's own beside the node id.
  store<std::uint16_t>(buffer.view.bytes(), place.payload() + 8, kNodeId);
  store<std::uint16_t>(buffer.view.bytes(), place.payload() + 10, 77);
  ASSERT_EQ(push_hop(buffer.view, kByPortMark, hop_of(2)), Outcome::done);
  EXPECT_EQ(load<std::uint32_t>(buffer.now(), place.payload() + kIntFixedBytes), 2u);
  EXPECT_EQ(load<std::uint32_t>(buffer.now(), place.payload() + kIntFixedBytes + 4), kUnknown32);
}

TEST(IntMd, LeavesOtherPacketsAlone) {
  const auto refused = [](Bytes frame) {
    Buffer buffer(frame);
    const Outcome outcome = insert_int(buffer.view, kByPortMark, kNodeId, 8, hop_of(1));
    EXPECT_EQ(buffer.now(), frame);
    return outcome;
  };
  Bytes frame = make_frame({});
  frame[14 + 9] = std::byte{6};
  EXPECT_EQ(refused(frame), Outcome::not_udp);
  frame = make_frame({});
  frame[14 + 6] = std::byte{0x20};
  EXPECT_EQ(refused(frame), Outcome::not_udp);
  frame = make_frame({});
  frame[14 + 10] ^= std::byte{1};
  EXPECT_EQ(refused(frame), Outcome::bad_checksum);
  frame = make_frame({});
  frame.pop_back();
  EXPECT_EQ(refused(frame), Outcome::truncated);
  Taken taken;
  IntView view;
  Buffer plain(make_frame({}));
  EXPECT_EQ(strip_int(plain.view, kByPortMark, taken, view), Outcome::absent);
  Buffer marked(make_frame({.dscp = 0x17}));
  EXPECT_EQ(insert_int(marked.view, kByDscpMark, kNodeId, 8, hop_of(1)), Outcome::present);
  Buffer tight(make_frame({}), kIntFixedBytes + 3);
  EXPECT_EQ(insert_int(tight.view, kByPortMark, kNodeId, 8, hop_of(1)), Outcome::no_room);
}

}  // namespace
}  // namespace tributary::telemetry
