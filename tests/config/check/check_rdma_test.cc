// T19, A5: keys of ranks by RDMA, and what they ask of each other.
#include "config/check/check_rdma.h"

#include <gtest/gtest.h>

#include "tests/config/sample.h"

namespace tributary::config {
namespace {

class BadRdma : public testing::TestWithParam<BadLine> {};
TEST_P(BadRdma, IsRefusedAtItsPlace) {
  expect_refused(GetParam());
}

INSTANTIATE_TEST_SUITE_P(
    A5, BadRdma,
    testing::Values(BadLine{19, "    rdma: true",
                            "f.yaml:19:11: jobs[0].rdma: no port takes RDMA; allowed: "},
                    BadLine{19, "    rdma: yes", "f.yaml:19:11: jobs[0].rdma: "},
                    BadLine{12, "  - {name: w1, devargs: net_null1, mtu: 9000, rdma: 1}",
                            "f.yaml:12:53: ports[1].rdma: "}));

std::string with(std::uint32_t chunk_bytes, std::uint32_t mtu, const std::string& more = "") {
  return "switch: {address: 10.77.0.254}\n"
         "ports: [{name: a, devargs: net_null0, mtu: 9000, rdma: true},\n"
         "        {name: b, devargs: net_null1, rdma: true, mtu: " +
         std::to_string(mtu) +
         "}]\n"
         "jobs: [{id: 1, workers: 2, rdma: true, chunk_bytes: " +
         std::to_string(chunk_bytes) + more + "}]\n";
}

TEST(Rdma, A5_AChunkFitsThePathMtuOfEachPortThatTakesIt) {
  for (const auto& [chunk, mtu] : {std::pair{3968u, 4176u}, {1920u, 4175u}, {896u, 1500u}}) {
    EXPECT_NO_THROW(parse_switch_config(with(chunk, mtu), "f.yaml")) << mtu;
    try {
      parse_switch_config(with(chunk + 8, mtu), "f.yaml");
      ADD_FAILURE() << chunk + 8 << " bytes over " << mtu;
    } catch (const std::exception& e) {
      EXPECT_NE(std::string(e.what()).find("path MTU of RDMA at port '"), std::string::npos)
          << e.what();
      EXPECT_NE(std::string(e.what()).find("at most " + std::to_string(chunk)), std::string::npos)
          << e.what();
    }
  }
}

// A port without RDMA may be narrow, and a job that is tied to others does not use it.
TEST(Rdma, PortsThatTheJobDoesNotUseByRdmaDoNotMatter) {
  std::string text = with(1024, 1500);
  const std::size_t at = text.find("net_null1, rdma: true");
  EXPECT_NO_THROW(parse_switch_config(text.erase(at + 9, 12), "f.yaml"));
}

TEST(Rdma, KeysAreReadAndOffUnlessSaid) {
  const SwitchConfig config = parse_switch_config(with(896, 1500), "f.yaml");
  EXPECT_TRUE(config.ports[0].rdma);
  EXPECT_TRUE(config.jobs[0].rdma);
  EXPECT_TRUE(takes_rdma(config));
  const SwitchConfig plain = parse_switch_config(std::string(kSample), "f.yaml");
  EXPECT_FALSE(takes_rdma(plain));
  EXPECT_FALSE(plain.ports[0].rdma);
}

TEST(Rdma, PathMtu) {
  EXPECT_EQ(rdma_mtu(335), 0u);
  EXPECT_EQ(rdma_mtu(336), 256u);
  EXPECT_EQ(rdma_mtu(1500), 1024u);
  EXPECT_EQ(rdma_mtu(9216), 4096u);
}

// The frame of the largest chunk fits a packet buffer.
TEST(Rdma, BuffersHoldItsFrames) {
  SwitchConfig config = parse_switch_config(with(896, 1500), "f.yaml");
  const JobConfig& job = config.jobs[0];
  EXPECT_EQ(rdma_bytes(job), 12u + 8 + 10 + 3 + 4);
  EXPECT_EQ(rdma_message_bytes(job), 10u + 54 + 64 + 896);
}

}  // namespace
}  // namespace tributary::config
