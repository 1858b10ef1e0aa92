// A device that takes as long to open as a test wants.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

namespace tributary::control {

// Accepts a virtio-user device's connection and sends nothing. The device fails when it goes.
// Ignores SIGPIPE, as daemons do: DPDK may write when it has gone.
class SilentPeer {
 public:
  SilentPeer() : listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    std::signal(SIGPIPE, SIG_IGN);
    std::string pattern = testing::TempDir() + "tributary-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    path = directory_ + "/v";
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 1), 0);
  }
  ~SilentPeer() {
    go();
    std::filesystem::remove_all(directory_);
  }
  SilentPeer(const SilentPeer&) = delete;
  SilentPeer& operator=(const SilentPeer&) = delete;

  void wait() { connection_ = accept(listener_, nullptr, nullptr); }
  void go() {
    close(std::exchange(listener_, -1));
    close(std::exchange(connection_, -1));
  }
  std::string path;

 private:
  std::string directory_;
  int listener_;
  int connection_ = -1;
};

}  // namespace tributary::control
