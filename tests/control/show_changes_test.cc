// Who asks while another thread changes the configuration: a real switch with its loop running.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

#include "control/metrics.h"
#include "control/show.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using testing::HasSubstr;

constexpr const char* kTables[] = {"ports",  "buffers", "jobs", "members", "slots",  "holds",
                                   "stages", "lcores",  "rxq",  "fdb",     "groups", "config"};

// What a virtio-user device connects to, and waits for; it says nothing. The device fails when it
// goes.
class SilentPeer {
 public:
  SilentPeer() : listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
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

class ShowChangesTest : public testing::Test {
 protected:
  void look() {
    for (const char* const what : kTables) (void)show.table(what);
    EXPECT_FALSE(Metrics(sw.get()).Collect().empty());
  }

  static config::SwitchConfig with_room() {
    config::SwitchConfig config = null_config();
    config.memory.reserve_megabytes = 16;
    return config;
  }

  config::SwitchConfig file = with_room();
  RunningSwitch sw{file};
  Show show{sw.get()};
};

TEST_F(ShowChangesTest, C1_ADeviceThatOpensSlowlyKeepsNobodyWaiting) {
  SilentPeer peer;
  file.ports.push_back({"slow", "net_virtio_user7,path=" + peer.path, 1500});
  auto refused = std::async(std::launch::async, [&] {
    try {
      sw.get().apply(file);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string();
  });
  peer.wait();
  auto looked = std::async(std::launch::async, [&] { look(); });
  EXPECT_EQ(looked.wait_for(std::chrono::seconds(30)), std::future_status::ready);
  EXPECT_EQ(refused.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  peer.go();
  EXPECT_THAT(refused.get(), HasSubstr("port slow"));
  EXPECT_EQ(show.table("ports").size(), 2u);
}

// One configuration or the other, never something in between. For ThreadSanitizer, too.
TEST_F(ShowChangesTest, C1_AnAnswerIsOfOneConfiguration) {
  config::SwitchConfig other = file;
  other.ports.push_back({"third", "net_null2,no-rx=1", 1500});
  other.jobs.front().workers = 2;
  other.jobs.push_back(other.jobs.front());
  other.jobs.back().id = 9;
  other.jobs.back().name = "second";
  std::atomic<bool> over{false};
  std::thread changes([&] {
    for (int i = 0; i < 20; ++i) {
      sw.get().apply(other);
      sw.get().apply(file);
    }
    over.store(true);
  });
  while (!over.load()) {
    look();
    const auto ports = show.table("ports").size();
    EXPECT_TRUE(ports == 2 || ports == 3) << ports;
    const auto jobs = show.table("jobs");
    EXPECT_TRUE((jobs.size() == 1 && jobs[0]["workers"] == 3) ||
                (jobs.size() == 2 && jobs[0]["workers"] == 2))
        << jobs;
  }
  changes.join();
}

}  // namespace
}  // namespace tributary::control
