// What access control reads from frames: addresses and ports where they are, and a reason for
// everything that is cut short or bent.
#include "dataplane/bridge/acl_key.h"

#include <gtest/gtest.h>

#include "tests/dataplane/ip_frame.h"

namespace tributary::dataplane {
namespace {

struct Read {
  AclFields fields;
  AclKey key;
};
Read read(const Bytes& frame, std::size_t missing = 0) {
  Read out;
  const auto parsed = wire::parse_ethernet(frame);
  out.fields = read_acl_key(std::get<wire::EthernetView>(parsed), missing, out.key);
  return out;
}

TEST(AclKey, Ipv4WithAndWithoutOptions) {
  for (const std::size_t options : {0u, 4u, 40u}) {
    const Read r = read(ipv4_frame({.protocol = 17, .options = options}));
    EXPECT_EQ(r.fields.kind, AclKind::ipv4);
    EXPECT_EQ(r.fields.malformed, DropReason::none);
    EXPECT_EQ(r.key.protocol, 17);
    EXPECT_EQ(r.key.source[0], 0x0A000001u);
    EXPECT_EQ(r.key.destination[0], 0x0A000002u);
    EXPECT_EQ(r.key.source_port, 1111);
    EXPECT_EQ(r.key.destination_port, 2222);
  }
}

Bytes with_tags(const Bytes& frame, std::initializer_list<std::uint16_t> types) {
  Bytes out = frame;
  for (const std::uint16_t type : types)
    out.insert(out.begin() + 12,
               {std::byte(type >> 8), std::byte(type & 0xFF), std::byte{0}, std::byte{0}});
  return out;
}

// A host takes a packet from behind several tags, and no rule may be passed that way.
TEST(AclKey, LooksBehindStackedTags) {
  const Bytes frame = ipv4_frame({.protocol = 17});
  for (const auto& tags : {with_tags(frame, {0x8100, 0x8100}), with_tags(frame, {0x8100, 0x88A8}),
                           with_tags(frame, {0x9100, 0x8100, 0x88A8})}) {
    const Read r = read(tags);
    EXPECT_EQ(r.fields.kind, AclKind::ipv4);
    EXPECT_EQ(r.fields.malformed, DropReason::none);
    EXPECT_EQ(r.key.ether_type, wire::kEtherTypeIpv4);
    EXPECT_EQ(r.key.destination_port, 2222);
  }
  Bytes many = frame;
  for (int i = 0; i < 10; ++i) many = with_tags(many, {0x8100});
  EXPECT_EQ(read(many).fields.malformed, DropReason::vlan_stacked);
  const Bytes cut = with_tags(frame, {0x8100, 0x8100});
  EXPECT_EQ(read({cut.begin(), cut.begin() + 20}).fields.malformed, DropReason::frame_truncated);
}

// Every length of a packet, at the end of the frame and of the IP packet.
TEST(AclKey, CutShortIsMalformedUpToThePorts) {
  const Bytes v4 = ipv4_frame({.protocol = 6, .payload = 4});
  const Bytes v6 = ipv6_frame({.protocol = 6, .payload = 4});
  for (std::size_t bytes = wire::kEthernetBytes; bytes < v4.size(); ++bytes)
    EXPECT_EQ(read({v4.begin(), v4.begin() + static_cast<std::ptrdiff_t>(bytes)}).fields.malformed,
              DropReason::frame_truncated);
  for (std::size_t bytes = wire::kEthernetBytes; bytes < v6.size(); ++bytes)
    EXPECT_EQ(read({v6.begin(), v6.begin() + static_cast<std::ptrdiff_t>(bytes)}).fields.malformed,
              DropReason::frame_truncated);
  EXPECT_EQ(read(v4).fields.malformed, DropReason::none);
  EXPECT_EQ(read(v6).fields.malformed, DropReason::none);
  // The IP packet ends before the ports do, whatever follows in the frame (RFC 1858).
  EXPECT_EQ(read(ipv4_frame({.protocol = 6, .payload = 3})).fields.malformed,
            DropReason::frame_truncated);
  EXPECT_EQ(read(ipv6_frame({.protocol = 17, .payload = 3})).fields.malformed,
            DropReason::frame_truncated);
  EXPECT_EQ(read(ipv4_frame({.protocol = 1, .payload = 0})).fields.malformed, DropReason::none);
}

TEST(AclKey, BentHeadersAreMalformed) {
  Bytes frame = ipv4_frame({});
  frame[14] = std::byte{0x44};  // shorter than itself
  EXPECT_EQ(read(frame).fields.malformed, DropReason::frame_bad_ip);
  frame[14] = std::byte{0x65};
  EXPECT_EQ(read(frame).fields.malformed, DropReason::frame_bad_ip);
  frame = ipv6_frame({});
  frame[14] = std::byte{0x45};
  EXPECT_EQ(read(frame).fields.malformed, DropReason::frame_bad_ip);
}

TEST(AclKey, LaterFragmentsHaveNoPorts) {
  Read r = read(ipv4_frame({.protocol = 17, .fragment = 1, .payload = 8}));
  EXPECT_EQ(r.fields.malformed, DropReason::none);
  EXPECT_EQ(r.key.protocol, 17);
  EXPECT_EQ(r.key.destination_port, 0);
  r = read(ipv4_frame({.protocol = 17, .fragment = 0x2000, .payload = 8}));  // the first of some
  EXPECT_EQ(r.key.destination_port, 2222);
  const std::vector<std::uint8_t> later = {17, 0, 0, 8, 0, 0, 0, 1};
  r = read(ipv6_frame({.protocol = 44, .extensions = later, .payload = 8}));
  EXPECT_EQ(r.fields.malformed, DropReason::none);
  EXPECT_EQ(r.key.protocol, 17);
  EXPECT_EQ(r.key.destination_port, 0);
}

TEST(AclKey, Ipv6ExtensionsAreWalked) {
  // Hop-by-hop, routing of 16 bytes, the first fragment.
  const std::vector<std::uint8_t> chain = {43, 0, 0, 0, 0, 0, 0, 0,  //
                                           44, 1, 0, 0, 0, 0, 0, 0,  //
                                           0,  0, 0, 0, 0, 0, 0, 0,  //
                                           6,  0, 0, 1, 0, 0, 0, 1};
  Read r = read(ipv6_frame({.protocol = 0, .extensions = chain, .payload = 8}));
  EXPECT_EQ(r.fields.kind, AclKind::ipv6);
  EXPECT_EQ(r.fields.malformed, DropReason::none);
  EXPECT_EQ(r.key.protocol, 6);
  EXPECT_EQ(r.key.destination_port, 2222);
  EXPECT_EQ(r.key.source[0], 0x20010DB8u);
  EXPECT_EQ(r.key.destination[3], 2u);
  // A sender that hides a protocol behind too many of them is refused.
  std::vector<std::uint8_t> many;
  for (int n = 0; n < 8; ++n) many.insert(many.end(), {60, 0, 0, 0, 0, 0, 0, 0});
  many[7 * 8] = 6;
  r = read(ipv6_frame({.protocol = 60, .extensions = many, .payload = 8}));
  EXPECT_EQ(r.fields.malformed, DropReason::none);
  many[7 * 8] = 60;
  many.insert(many.end(), {6, 0, 0, 0, 0, 0, 0, 0});
  r = read(ipv6_frame({.protocol = 60, .extensions = many, .payload = 8}));
  EXPECT_EQ(r.fields.malformed, DropReason::frame_bad_ip);
  // An extension that ends beyond the packet.
  const std::vector<std::uint8_t> beyond = {6, 200, 0, 0, 0, 0, 0, 0};
  r = read(ipv6_frame({.protocol = 60, .extensions = beyond, .payload = 8}));
  EXPECT_EQ(r.fields.malformed, DropReason::frame_truncated);
}

TEST(AclKey, HeadersInOtherSegmentsAreMalformed) {
  const Bytes frame = ipv4_frame({.protocol = 17, .payload = 8});
  const Bytes head(frame.begin(), frame.begin() + 36);
  EXPECT_EQ(read(head, frame.size() - head.size()).fields.malformed, DropReason::frame_bad_ip);
}

TEST(AclKey, AnythingElseHasItsType) {
  const Read r = read(l2_frame(kEverybody, host(1), 64, std::uint16_t{7}, 0x0806));
  EXPECT_EQ(r.fields.kind, AclKind::other);
  EXPECT_EQ(r.key.ether_type, 0x0806);
}

}  // namespace
}  // namespace tributary::dataplane
