#include "core/wire/header.h"

#include <gtest/gtest.h>

#include <array>

namespace tributary::wire {
namespace {

TEST(Header, RoundTripKeepsEveryField) {
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
  std::array<std::byte, 128> buffer{};
  const std::size_t n = serialize(h, {}, buffer);
  ASSERT_EQ(n, kHeaderBytes);
  const auto parsed = parse(std::span(buffer).first(n));
  ASSERT_TRUE(std::holds_alternative<Packet>(parsed));
  EXPECT_EQ(std::get<Packet>(parsed).header, h);
}

}  // namespace
}  // namespace tributary::wire
