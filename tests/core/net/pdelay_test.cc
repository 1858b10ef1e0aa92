#include "core/net/pdelay.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/net/lldp.h"

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

constexpr PortIdentity kHere = {{2, 1, 2, 3, 4, 5}, 3};
constexpr PortIdentity kThere = {{2, 9, 8, 7, 6, 5}, 0};

Bytes written(const PdelayMessage& message) {
  Bytes frame(kPdelayFrameBytes);
  EXPECT_EQ(write_pdelay(message, frame), kPdelayFrameBytes);
  return frame;
}
Bytes body_of(const PdelayMessage& message) {
  const Bytes frame = written(message);
  return {frame.begin() + kEthernetBytes, frame.end()};
}
int at(const Bytes& bytes, std::size_t offset) {
  return std::to_integer<int>(bytes[offset]);
}

PdelayMessage response() {
  return {.response = true,
          .sequence = 0x1234,
          .from = kHere,
          .requester = kThere,
          .correction_ns = 70'000};
}

// Field positions of IEEE 1588-2019, clauses 13.3, 13.9 and 13.10, independently of the code.
TEST(Pdelay, HasTheStandardLayout) {
  const Bytes frame = written(response());
  EthernetView view;
  ASSERT_EQ(parse_ethernet(frame, view), DropReason::none);
  EXPECT_EQ(view.destination, kLldpGroup);
  EXPECT_EQ(view.source, kHere.mac);
  EXPECT_EQ(view.ether_type, 0x88F7);
  const Bytes body(view.payload.begin(), view.payload.end());
  ASSERT_EQ(body.size(), 54u);
  EXPECT_EQ(at(body, 0), 0x03);
  EXPECT_EQ(at(body, 1), 0x02);
  EXPECT_EQ(at(body, 3), 54);
  EXPECT_EQ(at(body, 4), 116);
  EXPECT_EQ(at(body, 6), 0) << "one-step";
  // 70,000 ns times 2^16 is 0x1'1170'0000 with 16 bits behind the point.
  EXPECT_EQ(at(body, 11), 0x01);
  EXPECT_EQ(at(body, 12), 0x11);
  EXPECT_EQ(at(body, 13), 0x70);
  EXPECT_EQ(at(body, 20), 2);
  EXPECT_EQ(at(body, 23), 0xFF);
  EXPECT_EQ(at(body, 24), 0xFE);
  EXPECT_EQ(at(body, 29), 4) << "ports are counted from 1";
  EXPECT_EQ(at(body, 30), 0x12);
  EXPECT_EQ(at(body, 31), 0x34);
  EXPECT_EQ(at(body, 53), 1);
}

TEST(Pdelay, IsReadAsItWasWritten) {
  const auto read = parse_pdelay(body_of(response()));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->response);
  EXPECT_EQ(read->sequence, 0x1234);
  EXPECT_EQ(read->from, kHere);
  EXPECT_EQ(read->requester, kThere);
  EXPECT_EQ(read->correction_ns, 70'000);
  PdelayMessage request;
  request.sequence = 9;
  request.from = kThere;
  const auto asked = parse_pdelay(body_of(request));
  ASSERT_TRUE(asked);
  EXPECT_FALSE(asked->response);
  EXPECT_EQ(asked->from, kThere);
}

TEST(Pdelay, OtherMessagesAndDomainsAreNoProbes) {
  const Bytes good = body_of(response());
  const auto with = [&](std::size_t offset, int value) {
    Bytes body = good;
    body[offset] = static_cast<std::byte>(value);
    return body;
  };
  EXPECT_TRUE(is_probe(good));
  EXPECT_FALSE(is_probe(with(0, 0x00))) << "Sync";
  EXPECT_FALSE(is_probe(with(0, 0x0A))) << "follow-up";
  EXPECT_FALSE(is_probe(with(1, 0x01))) << "version 1";
  EXPECT_FALSE(is_probe(with(4, 0))) << "the clocks' own domain";
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parse_pdelay(std::span(good).first(length))) << length;
  EXPECT_FALSE(parse_pdelay(with(3, 53))) << "says that it is shorter";
  EXPECT_FALSE(parse_pdelay(with(8, 0x80))) << "negative correction";
  EXPECT_FALSE(parse_pdelay(with(8, 0x7F))) << "years";
  Bytes small(kPdelayFrameBytes - 1);
  EXPECT_EQ(write_pdelay(response(), small), 0u);
}

}  // namespace
}  // namespace tributary::wire
