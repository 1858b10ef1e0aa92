#include "core/endpoint.h"

#include <gtest/gtest.h>

#include <vector>

namespace tributary {
namespace {

// A queue pair behind an IPv6 address.
constexpr Endpoint::Parts kParts = {.front_end = FrontEndId::udp,
                                    .port = 0xFFFF,
                                    .flow = 0xFFFFFFFF,
                                    .node = {0x20010DB800000000, 0x1},
                                    .station = 0xFFFFFFFFFFFF,
                                    .segment = 0xFFFF};

TEST(Endpoint, Rule20_ItsPartsComeBack) {
  const Endpoint e(kParts);
  EXPECT_EQ(e.front_end(), FrontEndId::udp);
  EXPECT_EQ(e.port(), 0xFFFF);
  EXPECT_EQ(e.flow(), 0xFFFFFFFF);
  EXPECT_EQ(e.node(), (NodeId{0x20010DB800000000, 0x1}));
  EXPECT_EQ(e.station(), 0xFFFFFFFFFFFF);
  EXPECT_EQ(e.segment(), 0xFFFF);
  EXPECT_TRUE(e.is_known());
  EXPECT_FALSE(Endpoint().is_known());
  EXPECT_EQ(ipv4_of(node_of_ipv4(0x0A4D0001)), 0x0A4D0001u);
}

// Rule 18: a child is bound to all of it. One part changes at a time; what each relation says then.
struct Changed {
  const char* part;
  Endpoint::Parts parts;
  bool same_host;
  bool same_but_station;
};

std::vector<Changed> one_part_changed() {
  std::vector<Changed> all = {
      {"front end", kParts, false, false}, {"port", kParts, false, false},
      {"flow", kParts, true, false},       {"high node", kParts, false, false},
      {"low node", kParts, false, false},  {"station", kParts, false, true},
      {"segment", kParts, false, false},   {"no segment", kParts, false, false},
  };
  all[0].parts.front_end = FrontEndId::none;
  all[1].parts.port ^= 0x8000;
  all[2].parts.flow ^= 1;
  all[3].parts.node.high ^= 1;
  all[4].parts.node.low ^= std::uint64_t{1} << 63;
  all[5].parts.station ^= 1;
  all[6].parts.segment = 0x7FFF;
  all[7].parts.segment.reset();
  return all;
}

TEST(Endpoint, Rule18_EveryPartCounts) {
  const Endpoint e(kParts);
  EXPECT_EQ(e, Endpoint(kParts));
  EXPECT_TRUE(e.is_same_host(e));
  EXPECT_TRUE(e.is_same_but_station(e));
  for (const Changed& c : one_part_changed()) {
    const Endpoint other(c.parts);
    EXPECT_NE(e, other) << c.part;
    EXPECT_EQ(e.is_same_host(other), c.same_host) << c.part;
    EXPECT_EQ(other.is_same_host(e), c.same_host) << c.part;
    EXPECT_EQ(e.is_same_but_station(other), c.same_but_station) << c.part;
  }
}

TEST(Endpoint, ATagOfZeroIsNotNoTag) {
  Endpoint::Parts tagged = kParts;
  Endpoint::Parts untagged = kParts;
  tagged.segment = 0;
  untagged.segment.reset();
  EXPECT_NE(Endpoint(tagged), Endpoint(untagged));
  EXPECT_EQ(Endpoint(tagged).segment(), 0);
}

TEST(Endpoint, BehindARouterThereIsNoStation) {
  const Endpoint e = Endpoint(kParts).without_station();
  EXPECT_EQ(e.station(), 0u);
  EXPECT_TRUE(e.is_same_but_station(Endpoint(kParts)));
}

}  // namespace
}  // namespace tributary
