#include "dataplane/host/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace tributary::dataplane {
namespace {

namespace fs = std::filesystem;

// The id of a process that has ended and been waited for.
int dead_pid() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

class RunDirectoryTimed : public testing::Test {
 public:
  ~RunDirectoryTimed() override { fs::remove_all(parent); }

 protected:
  RunDirectoryTimed() {
    std::string pattern = testing::TempDir() + "tributary-XXXXXX";
    parent = mkdtemp(pattern.data());
  }

  fs::path make(const std::string& name) {
    fs::create_directory(parent / name);
    return parent / name;
  }
  // Bound, as DPDK's telemetry socket is.
  static int bind_socket(const fs::path& path, bool listening) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.string().copy(address.sun_path, sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    if (listening) {
      EXPECT_EQ(listen(fd, 1), 0);
    }
    return fd;
  }

  fs::path parent;
};

TEST_F(RunDirectoryTimed, IsRefusedWithTheSystemsReasonWhereNothingCanBeMade) {
  EXPECT_NO_THROW(check_run_directory(parent));
  EXPECT_TRUE(fs::is_empty(parent / "dpdk")) << "the probe goes";
  EXPECT_NO_THROW(check_run_directory(parent)) << "it may be there";
  std::ofstream(parent / "file").put('x');
  try {
    check_run_directory(parent / "file");
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("Not a directory"),
                                             testing::HasSubstr("RUNTIME_DIRECTORY")));
  }
}

TEST_F(RunDirectoryTimed, OfAKilledProcessGoes) {
  const auto left = make(run_directory_name(dead_pid()));
  close(bind_socket(left / "dpdk_telemetry.v2", true));
  remove_stale_run_directories(parent);
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(RunDirectoryTimed, OfALivingProcessStays) {
  const auto own = make(run_directory_name(getpid()));
  remove_stale_run_directories(parent);
  EXPECT_TRUE(fs::exists(own));
}

TEST_F(RunDirectoryTimed, AnsweredSocketStays) {
  const auto other = make(run_directory_name(dead_pid()));  // id of another PID namespace
  const int fd = bind_socket(other / "dpdk_telemetry.v2", true);
  remove_stale_run_directories(parent);
  EXPECT_TRUE(fs::exists(other / "dpdk_telemetry.v2"));
  close(fd);
}

TEST_F(RunDirectoryTimed, OnlyItsOwnKindIsTouched) {
  const std::string dead = std::to_string(dead_pid());
  for (const auto& name : {std::string("rte"), "tributary-x" + dead, "tributary-" + dead + "x",
                           std::string("tributary-"), "other-" + dead})
    make(name);
  const auto full = make("tributary-" + dead);
  std::ofstream(full / "data") << "kept";
  remove_stale_run_directories(parent);
  EXPECT_EQ(std::distance(fs::directory_iterator(parent), fs::directory_iterator()), 6);
  EXPECT_TRUE(fs::exists(full / "data"));
  remove_stale_run_directories(parent / "absent");
}

}  // namespace
}  // namespace tributary::dataplane
