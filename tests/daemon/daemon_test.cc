#include "tools/daemon/daemon.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>
#include <vector>

namespace tributary::tools {
namespace {

// Stands for the service manager: what sd_notify(3) sends arrives here.
class Manager {
 public:
  Manager() : socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "tributary-daemon-test-" + std::to_string(getpid());
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), length), 0);
    setenv("NOTIFY_SOCKET", ("@" + name).c_str(), 1);
  }
  ~Manager() {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    close(socket_);
  }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // All that has been said; sd_notify() returns when it lies here.
  std::vector<std::string> heard() {
    std::vector<std::string> all;
    char text[256];
    for (ssize_t n = 0; (n = recv(socket_, text, sizeof text, MSG_DONTWAIT)) > 0;)
      all.emplace_back(text, static_cast<std::size_t>(n));
    return all;
  }

 private:
  int socket_;
};

using Heard = std::vector<std::string>;

TEST(DaemonTimed, SaysThatItIsReadyAndThatItStops) {
  Manager manager;
  Daemon daemon;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  daemon.announce_ready(ends[1]);
  char line[16] = {};
  EXPECT_EQ(read(ends[0], line, sizeof line), 6);
  EXPECT_STREQ(line, "ready\n");
  EXPECT_EQ(read(ends[0], line, sizeof line), 0) << "the descriptor is closed";
  close(ends[0]);
  EXPECT_EQ(manager.heard(), Heard{"READY=1"});
  kill(getpid(), SIGTERM);
  daemon.wait({});
  EXPECT_EQ(manager.heard(), Heard{"STOPPING=1"});
}

TEST(DaemonTimed, ReloadsOnHangupAndGoesOn) {
  Manager manager;
  Daemon daemon;
  int reloads = 0;
  kill(getpid(), SIGHUP);
  daemon.wait({[&] {
                 ++reloads;
                 kill(getpid(), SIGINT);
               },
               {}});
  EXPECT_EQ(reloads, 1);
}

// A device may keep a reload waiting for longer than the service manager waits for a sign of life.
TEST(DaemonTimed, FeedsTheWatchdogDuringAReload) {
  Manager manager;
  setenv("WATCHDOG_USEC", "2000", 1);
  Daemon daemon;
  std::promise<void> begun;
  std::promise<void> enough;
  bool fed = false;
  kill(getpid(), SIGHUP);
  std::uint64_t turns = 0;
  daemon.wait({[&] {
                 begun.set_value();
                 fed = enough.get_future().wait_for(std::chrono::seconds(30)) ==
                       std::future_status::ready;
               },
               [&] {
                 if (++turns == 1) begun.get_future().wait();
                 if (turns == 5) {
                   enough.set_value();
                   kill(getpid(), SIGTERM);
                 }
                 return turns;
               }});
  EXPECT_TRUE(fed) << "only when the reload was over";
  EXPECT_EQ(manager.heard(), (Heard{"WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1",
                                    "WATCHDOG=1", "STOPPING=1"}));
}

TEST(DaemonTimed, AHangupDuringAReloadBringsAnotherOne) {
  Manager manager;
  Daemon daemon;
  int reloads = 0;
  kill(getpid(), SIGHUP);
  daemon.wait({[&] {
                 if (++reloads == 1) kill(getpid(), SIGHUP);
                 if (reloads == 2) kill(getpid(), SIGINT);
               },
               {}});
  EXPECT_EQ(reloads, 2);
}

TEST(DaemonTimed, WhatIsOverEndsTheWaitAndNotTheDaemon) {
  Manager manager;
  Daemon daemon;
  int asked = 0;
  EXPECT_FALSE(daemon.wait({{}, [] { return 0u; }, [&] { return ++asked == 2; }}));
  EXPECT_EQ(asked, 2);
  kill(getpid(), SIGTERM);
  EXPECT_TRUE(daemon.wait({{}, [] { return 0u; }, [] { return false; }}));
}

TEST(DaemonTimed, FeedsTheWatchdogOnlyWhileTheLoopTurns) {
  Manager manager;
  setenv("WATCHDOG_USEC", "2000", 1);
  Daemon daemon;
  const std::vector<std::uint64_t> seen = {7, 8, 8, 8, 9};
  std::size_t asked = 0;
  daemon.wait({{}, [&] {
                 const std::uint64_t turns = seen[asked++];
                 if (asked == seen.size()) kill(getpid(), SIGTERM);
                 return turns;
               }});
  EXPECT_EQ(asked, seen.size());
  EXPECT_EQ(manager.heard(), (Heard{"WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"}));
}

}  // namespace
}  // namespace tributary::tools
