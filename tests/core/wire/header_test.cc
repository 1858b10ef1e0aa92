#include "core/wire/header.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "core/wire/extension.h"

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

Header every_field() {
  Header h;
  h.type = PacketType::result;
  h.flags = kFlagLast | kFlagCe;
  h.job = 0x01020304;
  h.epoch = 0x0506;
  h.attempt = 7;
  h.seed_generation = 8;
  h.op = 0x090A0B0C;
  h.chunk = 0x0D0E0F10;
  h.seq = 0x11121314;
  h.slot = 0x15161718;
  h.origin = 0x191A1B1C;
  h.child = 0x1D1E;
  h.fan_in = 0x1F20;
  h.covered = 0x21222324;
  h.dtype = DType::float32;
  h.element_count = 0;
  h.scale_exponent = -5;
  h.collective = Collective::barrier;
  h.ttl = 9;
  h.shard = 10;
  h.plane = 11;
  h.stream = 12;
  h.reason = Reason::op_mismatch;
  return h;
}

Bytes packet(const Header& h, std::span<const std::byte> extensions = {},
             std::size_t payload_bytes = 0) {
  Bytes bytes(serialized_bytes(extensions.size()) + payload_bytes);
  EXPECT_EQ(serialize(h, extensions, bytes), bytes.size() - payload_bytes);
  return bytes;
}

DropReason reason_of(std::span<const std::byte> bytes) {
  const auto parsed = parse(bytes);
  return std::holds_alternative<DropReason>(parsed) ? std::get<DropReason>(parsed)
                                                    : DropReason::none;
}

// A valid packet of two int32 with one byte changed.
DropReason with_byte(std::size_t offset, std::uint8_t value) {
  Header h;
  h.dtype = DType::int32;
  h.element_count = 2;
  Bytes bytes = packet(h, {}, 8);
  EXPECT_EQ(reason_of(bytes), DropReason::none);
  bytes[offset] = std::byte{value};
  return reason_of(bytes);
}

TEST(Header, RoundTripKeepsEveryField) {
  const Bytes bytes = packet(every_field());
  ASSERT_EQ(bytes.size(), kHeaderBytes);
  const auto parsed = parse(bytes);
  ASSERT_TRUE(std::holds_alternative<Packet>(parsed));
  EXPECT_EQ(std::get<Packet>(parsed).header, every_field());
}

TEST(Header, EveryTruncationIsRefused) {
  Header h;
  h.dtype = DType::int32;
  h.element_count = 2;
  std::array<std::byte, 64> area;
  ExtensionWriter w(area);
  ASSERT_TRUE(w.add(TaskInformation{1, 2, 3}));
  const Bytes whole = packet(h, w.bytes(), 8);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    // A copy of exactly n bytes, so that AddressSanitizer sees a read beyond them.
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    const DropReason expected = n < kHeaderBytes       ? DropReason::header_truncated
                                : n < whole.size() - 8 ? DropReason::bad_extension
                                                       : DropReason::bad_payload_length;
    ASSERT_EQ(reason_of(cut), expected) << n;
  }
}

TEST(Header, EachFieldThatThisVersionDefinesIsChecked) {
  EXPECT_EQ(with_byte(0, 0), DropReason::bad_version);
  EXPECT_EQ(with_byte(0, 2), DropReason::bad_version);
  EXPECT_EQ(with_byte(1, 0), DropReason::bad_type);
  EXPECT_EQ(with_byte(1, kPacketTypeMax + 1), DropReason::bad_type);
  EXPECT_EQ(with_byte(2, 0x01), DropReason::bad_flags);
  EXPECT_EQ(with_byte(2, 0x80), DropReason::bad_flags);
  EXPECT_EQ(with_byte(42, kDTypeMax + 1), DropReason::bad_dtype);
  EXPECT_EQ(with_byte(43, 0), DropReason::bad_reduce_op);
  EXPECT_EQ(with_byte(43, kReduceOpMax + 1), DropReason::bad_reduce_op);
  EXPECT_EQ(with_byte(48, 3), DropReason::bad_encoding);
  EXPECT_EQ(with_byte(49, (kCollectiveMax + 1) << 4), DropReason::bad_collective);
  EXPECT_EQ(with_byte(53, 255), DropReason::bad_extension);
}

// All are looked at in one go: so every value of every byte, one at a time.
TEST(Header, EveryValueOfEveryByteIsJudgedByItsFieldAlone) {
  struct Field {
    std::size_t offset;
    unsigned least;
    unsigned most;
    DropReason otherwise;
  };
  constexpr Field kFields[] = {{0, kVersion, kVersion, DropReason::bad_version},
                               {1, 1, kPacketTypeMax, DropReason::bad_type},
                               {2, 0, 0, DropReason::bad_flags},
                               {42, 0, kDTypeMax, DropReason::bad_dtype},
                               {43, 1, kReduceOpMax, DropReason::bad_reduce_op},
                               {48, 0, 2, DropReason::bad_encoding},
                               {49, 0, kCollectiveMax << 4 | 15, DropReason::bad_collective}};
  for (std::size_t offset = 0; offset < kHeaderBytes; ++offset) {
    const auto* field = std::find_if(std::begin(kFields), std::end(kFields),
                                     [&](const Field& f) { return f.offset == offset; });
    for (unsigned value = 0; value < 256; ++value) {
      SCOPED_TRACE("byte " + std::to_string(offset) + " is " + std::to_string(value));
      const DropReason got = with_byte(offset, static_cast<std::uint8_t>(value));
      if (field != std::end(kFields) && (value < field->least || value > field->most)) {
        ASSERT_EQ(got, field->otherwise);
      } else {  // lengths may fit no more
        ASSERT_TRUE(got == DropReason::none || got == DropReason::bad_payload_length ||
                    got == DropReason::bad_extension);
      }
    }
  }
}

TEST(Header, UnknownFlagsBelowTheHighByteAreIgnored) {
  EXPECT_EQ(with_byte(3, 0xFF), DropReason::none);
  EXPECT_EQ(with_byte(4, 0xFF), DropReason::none);
}

TEST(Header, ChecksGoFromLengthToVersionToTheRest) {
  Bytes bytes(kHeaderBytes, std::byte{0xFF});
  EXPECT_EQ(reason_of(bytes), DropReason::bad_version);
  bytes[0] = std::byte{kVersion};
  EXPECT_EQ(reason_of(bytes), DropReason::bad_type);
  bytes[1] = std::byte{1};
  EXPECT_EQ(reason_of(bytes), DropReason::bad_flags);
  bytes.pop_back();
  EXPECT_EQ(reason_of(bytes), DropReason::header_truncated);
}

TEST(Header, PayloadIsElementCountTimesSize) {
  Header h;
  h.dtype = DType::float64;
  h.element_count = 3;
  EXPECT_EQ(reason_of(packet(h, {}, 24)), DropReason::none);
  EXPECT_EQ(reason_of(packet(h, {}, 25)), DropReason::bad_payload_length);
  EXPECT_EQ(reason_of(packet(h, {}, 16)), DropReason::bad_payload_length);
  h.dtype = DType::none;
  EXPECT_EQ(reason_of(packet(h, {}, 8)), DropReason::bad_payload_length);
  EXPECT_EQ(reason_of(packet(h, {}, 0)), DropReason::none);
  h.dtype = DType::float64;
  h.encoding = Encoding::compressed;  // has its own length rules
  EXPECT_EQ(reason_of(packet(h, {}, 5)), DropReason::none);
}

// Rule 17: a sum of 1- or 2-byte elements may travel as what it is accumulated in.
TEST(Header, APartialSumMayHaveFourBytesAnElement) {
  Header h;
  h.element_count = 6;
  for (const auto type : {PacketType::aggregate, PacketType::escalation}) {
    h.type = type;
    h.dtype = DType::float16;
    EXPECT_EQ(reason_of(packet(h, {}, 12)), DropReason::none);
    EXPECT_EQ(reason_of(packet(h, {}, 24)), DropReason::none);
    EXPECT_EQ(reason_of(packet(h, {}, 18)), DropReason::bad_payload_length);
    h.dtype = DType::int8;
    EXPECT_EQ(reason_of(packet(h, {}, 24)), DropReason::none);
    h.dtype = DType::float32;
    EXPECT_EQ(reason_of(packet(h, {}, 24)), DropReason::none);
    EXPECT_EQ(reason_of(packet(h, {}, 48)), DropReason::bad_payload_length);
    h.dtype = DType::none;
    EXPECT_EQ(reason_of(packet(h, {}, 24)), DropReason::bad_payload_length);
  }
  h.type = PacketType::contribution;
  h.dtype = DType::float16;
  EXPECT_EQ(reason_of(packet(h, {}, 24)), DropReason::bad_payload_length);
}

TEST(Serialize, PadsExtensionsSoThatThePayloadStaysAligned) {
  std::array<std::byte, 12> area{};
  area[1] = std::byte{3};  // one padding extension of three words
  std::array<std::byte, 128> out;
  const std::size_t n = serialize({}, area, out);
  EXPECT_EQ(n, kHeaderBytes + 16);
  EXPECT_EQ(n, serialized_bytes(area.size()));
  const auto parsed = parse(std::span(out).first(n));
  ASSERT_TRUE(std::holds_alternative<Packet>(parsed));
  EXPECT_EQ(std::get<Packet>(parsed).extensions.size(), 16u);
  EXPECT_TRUE(std::get<Packet>(parsed).payload.empty());
}

TEST(Serialize, RefusesWhatDoesNotFit) {
  std::array<std::byte, kHeaderBytes> exact;
  EXPECT_EQ(serialize({}, {}, exact), kHeaderBytes);
  EXPECT_EQ(serialize({}, {}, std::span(exact).first(kHeaderBytes - 1)), 0u);
  std::array<std::byte, 2048> out;
  const Bytes most(1016, std::byte{1});  // the last multiple of 8 that 255 words can say
  EXPECT_EQ(serialize({}, most, out), kHeaderBytes + 1016);
  const Bytes more(1020, std::byte{1});
  EXPECT_EQ(serialize({}, more, out), 0u);
  const Bytes uneven(6, std::byte{1});
  EXPECT_EQ(serialize({}, uneven, out), 0u);
}

// The packet path parses into a place that it has; both ways must say the same.
TEST(WireHeader, ParsingInPlaceGivesTheSamePacketAndTheSameReasons) {
  const Bytes good = packet(every_field());
  Packet in_place;
  in_place.header.job = 99;  // of an earlier packet
  ASSERT_EQ(parse(good, in_place), DropReason::none);
  const auto parsed = parse(good);
  EXPECT_EQ(in_place.header, std::get<Packet>(parsed).header);
  EXPECT_EQ(in_place.payload.data(), std::get<Packet>(parsed).payload.data());
  EXPECT_TRUE(in_place.extensions.empty());
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes bad = good;
    bad[at] = std::byte{0xFF};
    EXPECT_EQ(parse(bad, in_place), reason_of(bad)) << "byte " << at;
  }
  EXPECT_EQ(parse(std::span(good).first(53), in_place), DropReason::header_truncated);
}

}  // namespace
}  // namespace tributary::wire
