#include "worker/transport/memif_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace tributary::worker {
namespace {

using ::testing::HasSubstr;

TEST(MemifAddress, ReadsEveryKey) {
  const MemifAddress a = parse_memif_address(
      "memif:///run/t.sock?id=3&switch=10.77.0.254&port=5000&ip=10.9.8.7", 1, 2);
  EXPECT_EQ(a.socket, "/run/t.sock");
  EXPECT_EQ(a.id, 3u);
  EXPECT_EQ(a.switch_ipv4, 0x0A4D00FEu);
  EXPECT_EQ(a.base_port, 5000);
  EXPECT_EQ(a.own_ipv4, 0x0A090807u);
}

TEST(MemifAddress, OwnAddressAndPortHaveDefaults) {
  const MemifAddress a = parse_memif_address("memif:///s?switch=10.77.0.254&id=0", 1, 2);
  EXPECT_EQ(a.base_port, config::kDefaultUdpBasePort);
  EXPECT_EQ(a.own_ipv4, 0x0A4E0402u);  // 10.78.(job, rank)
}

TEST(MemifAddress, TheSwitchTellsTheRest) {
  const MemifAddress a = parse_memif_address("memif:///s", 1, 2);
  EXPECT_EQ(a.id, memif::kAnyId);
  EXPECT_EQ(a.switch_ipv4, 0u);
  EXPECT_EQ(a.base_port, 0u);
  EXPECT_EQ(a.own_ipv4, 0x0A4E0402u);
  EXPECT_EQ(parse_memif_address("memif:///s?port=5000", 1, 2).base_port, 5000);
  const MemifAddress b = parse_memif_address("memif:///s?switch=10.77.0.254", 1, 2);
  EXPECT_EQ(b.id, memif::kAnyId);
  EXPECT_EQ(b.base_port, config::kDefaultUdpBasePort);
}

TEST(MemifAddress, DerivedAddressesDifferByRankAndJob) {
  std::set<std::uint32_t> seen;
  std::set<wire::MacAddress> macs;
  for (std::uint32_t job = 0; job < 64; ++job)
    for (std::uint32_t rank = 0; rank < config::kMaxWorkers; ++rank) {
      const std::uint32_t ip = derived_worker_ipv4(job, rank);
      EXPECT_TRUE(seen.insert(ip).second) << job << " " << rank;
      EXPECT_TRUE(macs.insert(worker_mac(ip)).second);
    }
  const wire::MacAddress mac = worker_mac(0x0A4E0001);
  EXPECT_EQ(mac[0] & 3, 2) << "locally administered unicast";
  EXPECT_NE(mac, config::derived_mac(0x0A4E0001)) << "a switch with this address";
}

TEST(MemifAddress, MistakesAreNamed) {
  const std::string long_path(108, 'x');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"udp://10.0.0.1", "does not begin with memif://"},
      {"memif://?id=0&switch=10.0.0.1", "absolute"},
      {"memif://run/x?id=0&switch=10.0.0.1", "absolute"},
      {"memif:///" + long_path + "?id=0&switch=10.0.0.1", "at most 107"},
      {"memif:///s?id=&switch=10.0.0.1", "id= is not a number"},
      {"memif:///s?id=-1&switch=10.0.0.1", "id=-1 is not a number"},
      {"memif:///s?id=4294967296&switch=10.0.0.1", "is not a number from 0 to 4294967295"},
      {"memif:///s?id=1x&switch=10.0.0.1", "id=1x"},
      {"memif:///s?id=0&switch=10.0.0", "switch=10.0.0 is not a unicast IPv4 address"},
      {"memif:///s?id=0&switch=239.1.1.1", "unicast"},
      {"memif:///s?id=0&switch=0.0.0.0", "unicast"},
      {"memif:///s?id=0&switch=10.0.0.1&port=0", "from 1 to 65520"},
      {"memif:///s?id=0&switch=10.0.0.1&port=65521", "from 1 to 65520"},
      {"memif:///s?id=0&switch=10.0.0.1&ip=x", "ip=x is not"},
      {"memif:///s?id=0&switch=10.0.0.1&ip=10.0.0.1", "same address"},
      {"memif:///s?id=0&switch=10.0.0.1&rsize=10", "unknown key \"rsize\""},
      {"memif:///s?id=0&&switch=10.0.0.1", "unknown key \"\""},
  };
  for (const auto& [address, expected] : cases) {
    try {
      parse_memif_address(address, 0, 0);
      ADD_FAILURE() << address << " was accepted";
    } catch (const std::invalid_argument& e) {
      EXPECT_THAT(e.what(), HasSubstr(expected));
      EXPECT_THAT(e.what(), HasSubstr("write memif:///SOCKET_PATH?id=N&switch=IPV4"));
    }
  }
}

}  // namespace
}  // namespace tributary::worker
