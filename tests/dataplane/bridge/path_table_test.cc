// Pinned paths: which destinations have one, and which of several counts (C7).
#include "dataplane/bridge/path_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/schema/schema_forwarding.h"
#include "dataplane/frame/mac_key.h"
#include "tests/dataplane/l2_frame.h"

namespace tributary::dataplane {
namespace {

config::PathDestination to(const std::string& text) {
  config::Node node;
  node.kind = config::Node::Kind::scalar;
  node.text = text;
  config::PathDestination destination;
  EXPECT_EQ(config::path_destination().parse(node, destination), std::nullopt) << text;
  return destination;
}

PathTable table(const std::vector<std::vector<std::string>>& of_ports) {
  std::vector<config::PortConfig> ports;
  for (const auto& paths : of_ports) {
    config::PortConfig port{.name = "p" + std::to_string(ports.size()), .devargs = "net_null0"};
    for (const std::string& text : paths) port.paths.push_back(to(text));
    ports.push_back(port);
  }
  return PathTable(ports);
}

// The destination stands where the address family has it; all else is noise.
Bytes ip_payload(const std::string& address, std::uint16_t& type) {
  const auto prefix = to(address).prefix;
  type = prefix.is_ipv6 ? wire::kEtherTypeIpv6 : wire::kEtherTypeIpv4;
  Bytes bytes(prefix.is_ipv6 ? 40 : 20, std::byte{0x5A});
  const std::size_t size = prefix.is_ipv6 ? 16 : 4;
  for (std::size_t i = 0; i < size; ++i)
    bytes[(prefix.is_ipv6 ? 24 : 16) + i] = static_cast<std::byte>(prefix.address[i]);
  return bytes;
}

std::uint16_t port_for(const PathTable& paths, const std::string& address,
                       const wire::MacAddress& mac = host(9)) {
  wire::EthernetView view;
  view.destination = mac;
  const Bytes bytes = ip_payload(address, view.ether_type);
  view.payload = bytes;
  return paths.port_of(mac_bits(mac), view);
}

TEST(PathTable, C7_OfSeveralPrefixesTheLongestCountsAndAMacAddressBeforeAll) {
  const PathTable paths = table({{"10.0.0.0/8", "2001:db8::/32"},
                                 {"10.1.0.0/16", "10.1.2.3"},
                                 {"10.1.2.0/24", "2001:db8:0:0:1::/80", "02:00:00:00:00:01"},
                                 {"2001:db8::7"}});
  EXPECT_FALSE(paths.empty());
  EXPECT_EQ(port_for(paths, "10.9.9.9"), 0);
  EXPECT_EQ(port_for(paths, "10.1.9.9"), 1);
  EXPECT_EQ(port_for(paths, "10.1.2.9"), 2);
  EXPECT_EQ(port_for(paths, "10.1.2.3"), 1);
  EXPECT_EQ(port_for(paths, "11.1.2.3"), PathTable::kNoPort);
  EXPECT_EQ(port_for(paths, "2001:db8:1::"), 0);
  EXPECT_EQ(port_for(paths, "2001:db8:0:0:1:2::"), 2);
  EXPECT_EQ(port_for(paths, "2001:db8::7"), 3);
  EXPECT_EQ(port_for(paths, "2001:db9::7"), PathTable::kNoPort);
  EXPECT_EQ(port_for(paths, "11.1.2.3", host(1)), 2);
  EXPECT_EQ(port_for(paths, "10.1.2.3", host(1)), 2);
}

TEST(PathTable, C7_APrefixOfNoBitsIsAllOfItsFamily) {
  const PathTable paths = table({{"0.0.0.0/0"}, {"::/0"}});
  EXPECT_EQ(port_for(paths, "192.0.2.1"), 0);
  EXPECT_EQ(port_for(paths, "2001:db8::1"), 1);
}

TEST(PathTable, C7_APacketThatIsCutShortOrOfAnotherKindHasNone) {
  const PathTable paths = table({{"0.0.0.0/0", "::/0"}});
  wire::EthernetView view;
  const Bytes bytes(40);
  for (const auto& [type, size] : {std::pair{wire::kEtherTypeIpv4, std::size_t{19}},
                                   {wire::kEtherTypeIpv6, std::size_t{39}},
                                   {std::uint16_t{0x88B5}, std::size_t{40}}}) {
    view.ether_type = type;
    view.payload = std::span(bytes).first(size);
    EXPECT_EQ(paths.port_of(mac_bits(host(9)), view), PathTable::kNoPort) << type;
  }
}

TEST(PathTable, WithoutPathsItIsEmpty) {
  EXPECT_TRUE(table({{}, {}}).empty());
  EXPECT_TRUE(PathTable({}).empty());
}

TEST(PathTable, APortThatIsVacantHasNone) {
  std::vector<config::PortConfig> ports(2);
  ports[1] = {.name = "p1", .devargs = "net_null1"};
  ports[0].paths = ports[1].paths = {to("10.0.0.1")};
  ports[1].paths.push_back(to("10.0.0.2"));
  EXPECT_EQ(port_for(PathTable(ports), "10.0.0.2"), 1);
  EXPECT_EQ(port_for(PathTable(ports), "10.0.0.1"), 1);
}

}  // namespace
}  // namespace tributary::dataplane
