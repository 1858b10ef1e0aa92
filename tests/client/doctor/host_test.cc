#include "tools/client/doctor/host.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "worker/transport/file_descriptor.h"

namespace tributary::client {
namespace {

using ::testing::HasSubstr;

class HostTestTimed : public ::testing::Test {
 protected:
  HostTestTimed() : root_(::testing::TempDir() + "doctor" + std::to_string(::getpid()) + "/") {
    std::filesystem::create_directories(root_ + "proc/self");
    std::filesystem::create_directories(root_ + "proc/sys/net/core");
  }
  ~HostTestTimed() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::ofstream(root_ + path) << text;
  }

  std::string root_;
};

TEST_F(HostTestTimed, ReadsWhatTheKernelGrants) {
  write("proc/self/status", "Name:\tx\nCapEff:\t0000000000002000\n");
  write("proc/sys/net/core/rmem_max", "212992\n");
  write("proc/meminfo", "MemFree: 1 kB\nHugePages_Free:       12\n");
  const HostFacts facts = look_at_host(root_);
  EXPECT_TRUE(facts.net_raw);
  EXPECT_FALSE(facts.net_admin);
  EXPECT_EQ(facts.receive_buffer_bytes, 212992u);
  EXPECT_EQ(facts.huge_pages, 12u);
}

TEST_F(HostTestTimed, AHostThatTellsNothingGrantsNothing) {
  const HostFacts facts = look_at_host(root_ + "nowhere/");
  EXPECT_FALSE(facts.net_raw || facts.net_admin);
  EXPECT_EQ(facts.receive_buffer_bytes, 0u);
}

TEST_F(HostTestTimed, SmallBuffersAreAWarningUnlessTheyCanBeForced) {
  const auto small = judge({.receive_buffer_bytes = 212992}, false);
  ASSERT_EQ(small.size(), 1u);
  EXPECT_EQ(small[0].level, Finding::Level::warning);
  EXPECT_THAT(small[0].remedy, HasSubstr("net.core.rmem_max"));
  EXPECT_EQ(judge({.net_admin = true, .receive_buffer_bytes = 212992}, false)[0].level,
            Finding::Level::ok);
}

TEST_F(HostTestTimed, ASwitchNeedsMore) {
  const auto found = judge({.net_raw = true, .receive_buffer_bytes = 8u << 20}, true);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_THAT(found[1].state, HasSubstr("lacks CAP_NET_ADMIN"));
  EXPECT_THAT(found[2].state, HasSubstr("none are free"));
}

TEST_F(HostTestTimed, AMemifSocketMayBeMissingOrNoSocket) {
  const std::string path = root_ + "memif";
  EXPECT_THAT(judge_memif_socket(path)[0].state, HasSubstr("No such file"));
  write("memif", "");
  EXPECT_THAT(judge_memif_socket(path)[0].state, HasSubstr("is not a socket"));
  std::filesystem::remove(path);
  const worker::FileDescriptor fd(::socket(AF_UNIX, SOCK_SEQPACKET, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(judge_memif_socket(path)[0].level, Finding::Level::ok);
}

}  // namespace
}  // namespace tributary::client
