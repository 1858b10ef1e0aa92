#include "telemetry/wire/ioam.h"

#include <gtest/gtest.h>

#include "tests/telemetry/wire/ioam_packet.h"

namespace tributary::telemetry {
namespace {

using namespace test;

IoamNode node() {
  return {123, 0xABCDEF, 0x11223344556677, 5, 6};
}

Hop stamped() {
  Hop hop;
  hop.ingress_port = 1;
  hop.egress_port = 2;
  hop.egress_ns = 7'000'009'999;
  hop.latency_ns = 300;
  hop.queue_occupancy = 4;
  return hop;
}

TEST(Ioam, C5_FillsFromTheEndOfTheSpace) {
  Bytes p = packet_of(0xFE000000, 7, 16);
  ASSERT_EQ(fill_ioam_trace(p, node(), stamped()), IoamOutcome::filled);
  EXPECT_EQ(load<std::uint16_t>(p, kTrace + 2), 7u << 11 | 9u);
  const Bytes expected = from_hex("3dabcdef 00010002 00000007 00000009 0000012c 00000005 00000004");
  const auto at = p.begin() + kTrace + 8 + 9 * 4;
  EXPECT_EQ(Bytes(at, at + 28), expected);
  EXPECT_TRUE(
      std::all_of(p.begin() + kTrace + 8, at, [](std::byte b) { return b == std::byte{}; }));
  ASSERT_EQ(fill_ioam_trace(p, node(), stamped()), IoamOutcome::filled);
  EXPECT_EQ(load<std::uint32_t>(p, kTrace + 8 + 2 * 4), 0x3DABCDEFu);
}

TEST(Ioam, SaysThatTheSpaceIsUsedUp) {
  Bytes p = packet_of(0x80000000, 1, 1);
  ASSERT_EQ(fill_ioam_trace(p, node(), stamped()), IoamOutcome::filled);
  Bytes full = p;
  EXPECT_EQ(fill_ioam_trace(p, node(), stamped()), IoamOutcome::full);
  full[kTrace + 2] |= std::byte{4};
  EXPECT_EQ(p, full);
  EXPECT_EQ(fill_ioam_trace(p, node(), stamped()), IoamOutcome::full);
  EXPECT_EQ(p, full);
}

TEST(Ioam, WritesWideFieldsAndWhatIsUnknown) {
  Bytes p = packet_of(0x00F80200, 8, 9);  // bits 8 to 12 and an opaque snapshot
  ASSERT_EQ(fill_ioam_trace(p, node(), stamped()), IoamOutcome::filled);
  const Bytes expected =
      from_hex("3d11223344556677 ffffffffffffffff 0000000000000006 ffffffff ffffffff 00ffffff");
  EXPECT_EQ(Bytes(p.begin() + kTrace + 8, p.begin() + kTrace + 8 + 36), expected);
}

// RFC 9197, section 4.3.
TEST(Ioam, C5_TheDefaultNamespaceIsKnownToAllNodes) {
  Bytes p = packet_of(0x80000000, 1, 4);
  p[kTrace + 1] = std::byte{0};
  EXPECT_EQ(judge_ioam_trace(p, 123), IoamOutcome::filled);
  EXPECT_EQ(fill_ioam_trace(p, node(), stamped()), IoamOutcome::filled);
}

TEST(Ioam, C5_ATraceBehindOneOfAnotherNamespaceIsFilled) {
  const Bytes one = packet_of(0x80000000, 1, 1);
  constexpr std::ptrdiff_t kOption = 44;
  constexpr std::ptrdiff_t kOptionEnd = 60;
  Bytes p(one.begin(), one.begin() + kOptionEnd);
  p.insert(p.end(), one.begin() + kOption, one.begin() + kOptionEnd);
  for (const unsigned byte : {1u, 2u, 0u, 0u}) p.push_back(static_cast<std::byte>(byte));
  p[5] = std::byte{40};
  p[41] = std::byte{4};
  p[kTrace + 1] = std::byte{9};
  const Bytes before = p;
  ASSERT_EQ(fill_ioam_trace(p, node(), stamped()), IoamOutcome::filled);
  EXPECT_EQ(load<std::uint32_t>(p, kTrace + 16 + 8), 0x3DABCDEFu);
  EXPECT_EQ(Bytes(p.begin(), p.begin() + kOptionEnd),
            Bytes(before.begin(), before.begin() + kOptionEnd));
}

TEST(Ioam, ADelayThatIsTooLongIsSaidToBe) {
  Bytes p = packet_of(0x08000000, 1, 1);
  Hop slow = stamped();
  slow.latency_ns = 3'000'000'000;
  ASSERT_EQ(fill_ioam_trace(p, node(), slow), IoamOutcome::filled);
  EXPECT_EQ(load<std::uint32_t>(p, kTrace + 8), 0x80000000u);
}

TEST(Ioam, LeavesWhatItMustNotTouch) {
  const auto outcome = [](Bytes p) {
    const Bytes before = p;
    const IoamOutcome result = fill_ioam_trace(p, node(), stamped());
    EXPECT_EQ(p, before);
    return result;
  };
  Bytes p = packet_of(0x80000000, 1, 4);
  p[kTrace + 1] = std::byte{9};
  EXPECT_EQ(outcome(p), IoamOutcome::foreign);
  EXPECT_EQ(outcome(packet_of(0x80000000, 2, 4)), IoamOutcome::malformed);  // node length
  p = packet_of(0x80000000, 1, 4);
  p[kTrace + 3] = std::byte{5};  // more left than the option has
  EXPECT_EQ(outcome(p), IoamOutcome::malformed);
  p = packet_of(0x80000000, 1, 4);
  p[41] = std::byte{99};  // header beyond the packet
  EXPECT_EQ(outcome(p), IoamOutcome::malformed);
  p = packet_of(0x80000000, 1, 4);
  p[45] = std::byte{250};  // option beyond the header
  EXPECT_EQ(outcome(p), IoamOutcome::malformed);
  p = packet_of(0x80000000, 1, 4);
  p[kTrace - 1] = std::byte{1};  // incremental trace
  EXPECT_EQ(outcome(p), IoamOutcome::absent);
  p = packet_of(0x80000000, 1, 4);
  p[5] = std::byte{8};  // the packet ends before, and padding of the frame follows
  EXPECT_EQ(outcome(p), IoamOutcome::malformed);
  EXPECT_EQ(outcome(packet_of(0, 0, 4)), IoamOutcome::absent) << "it asks for nothing";
  p = packet_of(0x80000000, 1, 4);
  p[6] = std::byte{17};
  EXPECT_EQ(outcome(p), IoamOutcome::absent);
}

}  // namespace
}  // namespace tributary::telemetry
