#include "dataplane/host/stale_socket.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace tributary::dataplane {
namespace {

class StaleSocketTimed : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path() / "tributary-stale-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] std::string path() const { return directory_ / "socket"; }

  // A listening socket, as a server of memif or vhost-user has it.
  [[nodiscard]] int listen_at_path() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, GetParam() | SOCK_NONBLOCK, 0);
    EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(fd, 1), 0);
    return fd;
  }

  std::filesystem::path directory_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, StaleSocketTimed, ::testing::Values(SOCK_SEQPACKET, SOCK_STREAM));

TEST_P(StaleSocketTimed, LeftBehindByTheDeadIsRemoved) {
  close(listen_at_path());
  ASSERT_TRUE(std::filesystem::exists(path()));
  EXPECT_TRUE(remove_stale_socket(path()));
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_P(StaleSocketTimed, LivingServerStaysAndNoticesNothing) {
  const int fd = listen_at_path();
  EXPECT_FALSE(remove_stale_socket(path()));
  EXPECT_TRUE(std::filesystem::exists(path()));
  EXPECT_EQ(accept(fd, nullptr, nullptr), -1) << "a connection was made";
  close(fd);
}

TEST_P(StaleSocketTimed, WhatIsNoSocketStays) {
  EXPECT_FALSE(remove_stale_socket(path()));
  std::ofstream(path()) << "precious";
  EXPECT_FALSE(remove_stale_socket(path()));
  EXPECT_TRUE(std::filesystem::exists(path()));
}

}  // namespace
}  // namespace tributary::dataplane
