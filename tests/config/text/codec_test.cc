// Durations, addresses and text: from users' notation and back.
#include "config/text/codec.h"

#include <gtest/gtest.h>

namespace tributary::config {
namespace {

TEST(Duration, ReadsEveryUnit) {
  EXPECT_EQ(parse_duration("30s"), Duration::seconds(30));
  EXPECT_EQ(parse_duration("200ms"), Duration::ms(200));
  EXPECT_EQ(parse_duration("50us"), Duration::us(50));
  EXPECT_EQ(parse_duration("7ns"), Duration::ns(7));
  EXPECT_EQ(parse_duration("5min"), Duration::seconds(300));
  EXPECT_EQ(parse_duration("2h"), Duration::seconds(7200));
  EXPECT_EQ(parse_duration("0s"), Duration());
  EXPECT_EQ(parse_duration("99999999999999999999h"), Duration::max());
  EXPECT_EQ(parse_duration("9223372036854775807ms"), Duration::max());
  for (const char* bad : {"", "s", "30", "-1s", "+1s", "1.5s", "1 s", "1S", "1sec", "0x1s", "01s"})
    EXPECT_FALSE(parse_duration(bad)) << bad;
}

TEST(Duration, WritesTheLargestUnitThatIsExact) {
  EXPECT_EQ(format_duration(Duration::seconds(300)), "300s");
  EXPECT_EQ(format_duration(Duration::ms(1500)), "1500ms");
  EXPECT_EQ(format_duration(Duration::us(200)), "200us");
  EXPECT_EQ(format_duration(Duration::ns(1)), "1ns");
  EXPECT_EQ(format_duration(Duration()), "0s");
}

TEST(Ipv4, ReadsDottedDecimalOnly) {
  EXPECT_EQ(parse_ipv4("10.77.0.254"), 0x0A4D00FEu);
  EXPECT_EQ(format_ipv4(0x0A4D00FEu), "10.77.0.254");
  for (const char* bad : {"", "10.77.0", "10.77.0.256", "10.77.0.1 ", "010.1.1.1.1", "::1", "host"})
    EXPECT_FALSE(parse_ipv4(bad)) << bad;
  EXPECT_FALSE(parse_ipv4(std::string_view("10.0.0.1\0x", 10)));
}

TEST(Mac, ReadsColonsAndHexOnly) {
  const wire::MacAddress mac = {0x02, 0x74, 0x0A, 0x4D, 0x00, 0xFE};
  EXPECT_EQ(parse_mac("02:74:0a:4d:00:fe"), mac);
  EXPECT_EQ(parse_mac("02:74:0A:4D:00:FE"), mac);
  EXPECT_EQ(format_mac(mac), "02:74:0a:4d:00:fe");
  for (const char* bad : {"", "02:74:0a:4d:00", "02-74-0a-4d-00-fe", "02:74:0a:4d:00:fe:",
                          "02:74:0a:4d:00:fg", "2:74:0a:4d:00:fe0", "02:74:0a:4d:00:-1"})
    EXPECT_FALSE(parse_mac(bad)) << bad;
}

TEST(Listen, NeedsAnAddressAndAPort) {
  const auto codec = listen_address();
  const auto ok = [&](const char* text) {
    Node node;
    node.kind = Node::Kind::scalar;
    node.text = text;
    std::string out;
    return !codec.parse(node, out).has_value();
  };
  for (const char* good : {"127.0.0.1:9400", "0.0.0.0:0", "[::1]:9400", "[::]:65535"})
    EXPECT_TRUE(ok(good)) << good;
  for (const char* bad : {"", ":9400", "9400", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                          "::1:9400", "[::1]", "[]:1", "localhost:9400", "127.0.0.1:0x10"})
    EXPECT_FALSE(ok(bad)) << bad;
}

}  // namespace
}  // namespace tributary::config
