// `show ports` and `show buffers`; and ports that a reload brings and takes, as operators see them:
// a real switch with its loop running.
#include "control/show/show_ports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "config/load/load.h"
#include "control/metrics/metrics.h"
#include "control/show/show.h"
#include "control/text/show_text.h"
#include "tests/control/plain_value.h"
#include "tests/control/running_switch.h"
#include "tests/control/silent_peer.h"
#include "tests/control/stopped_loop.h"

namespace tributary::control {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ShowPortsTestTimed : public testing::Test {
 protected:
  std::vector<std::string> names(const std::string& table) {
    std::vector<std::string> out;
    for (const auto& row : show.table(table)) out.push_back(row["port"]);
    return out;
  }
  // Ports that the metrics have.
  std::set<std::string> measured() {
    std::set<std::string> out;
    for (const auto& family : Metrics(sw.get()).Collect())
      for (const auto& metric : family.metric)
        for (const auto& label : metric.label)
          if (label.name == "port") out.insert(label.value);
    return out;
  }
  std::string refusal(const config::SwitchConfig& next) {
    try {
      sw.get().apply(next);
    } catch (const std::exception& e) {
      return e.what();
    }
    return "";
  }

  config::SwitchConfig file = null_config();
  RunningSwitch sw{file};
  Show show{sw.get()};
};

TEST(ShowPortsTimed, ARowSaysWhatAPortIsAndTakes) {
  RunningSwitch sw;
  const auto table = show_ports(sw.get());
  ASSERT_EQ(table.size(), 2u);
  EXPECT_THAT(
      columns(table[0]),
      testing::ElementsAre("port", "link", "mtu", "checksums", "vlan", "rx_packets", "rx_bytes",
                           "tx_packets", "tx_bytes", "drops", "marked", "jobs_marked", "rx_missed",
                           "rx_errors", "rx_no_buffer", "tx_errors", "device", "note"));
  EXPECT_EQ(table[1]["port"], "right");
  EXPECT_EQ(table[1]["mtu"], 9000);
  EXPECT_EQ(table[0]["checksums"], "software");
  EXPECT_EQ(table[0]["vlan"], "transparent");
  EXPECT_EQ(table[1]["device"], "net_null1,no-rx=1");
}

TEST(ShowPortsTimed, BuffersThatAreFreeAndThoseInUse) {
  RunningSwitch sw;
  const dataplane::FramePool& pool = sw.get().pools()[0];
  const auto table = show_buffers(sw.get());
  ASSERT_EQ(table.size(), 1u);
  EXPECT_EQ(table[0]["socket"], socket_or_null(pool.socket()));
  EXPECT_EQ(table[0]["buffers"], pool.buffers());
  EXPECT_EQ(table[0]["free"], pool.free_buffers());
  EXPECT_EQ(table[0]["in_use"], pool.buffers() - pool.free_buffers());
}

TEST_F(ShowPortsTestTimed, O1_ShowAndMetricsHaveThePortsThatAreThere) {
  file.ports.push_back({"third", "net_null2,no-rx=1", 1500});
  EXPECT_EQ(config::describe(sw.get().apply(file)), "changed: port third added");
  EXPECT_THAT(names("ports"), ElementsAre("left", "right", "third"));
  EXPECT_THAT(names("rxq"), ElementsAre("left", "right", "third"));
  EXPECT_THAT(measured(), ElementsAre("left", "right", "third"));
  EXPECT_EQ(show.table("config"), config::dump(file));

  file.ports.erase(file.ports.begin());
  EXPECT_EQ(config::describe(sw.get().apply(file)), "changed: port left removed");
  EXPECT_THAT(names("ports"), ElementsAre("right", "third"));
  EXPECT_THAT(names("rxq"), ElementsAre("right", "third"));
  EXPECT_THAT(measured(), ElementsAre("right", "third"));
  EXPECT_EQ(show.table("config"), config::dump(file));

  // Its device can be had again, under another name; it comes to the place that is free.
  file.ports.push_back({"new", "net_null0,no-rx=1", 1500});
  sw.get().apply(file);
  EXPECT_THAT(names("ports"), ElementsAre("new", "right", "third"));
  file.ports.back().name = "uplink";
  EXPECT_EQ(config::describe(sw.get().apply(file)), "changed: port new is called uplink");
  EXPECT_THAT(names("ports"), ElementsAre("uplink", "right", "third"));
  EXPECT_THAT(measured(), ElementsAre("right", "third", "uplink"));
  EXPECT_TRUE(sw.get().apply(file).empty());
}

TEST_F(ShowPortsTestTimed, O1_WhatCannotBeIsRefusedWhole) {
  const auto before = file;
  file.ports.push_back({"third", "net_null1,no-rx=1", 1500});
  EXPECT_THAT(refusal(file), HasSubstr("port right has a device of that name"));
  file.ports.back() = {"third", "net_nothing7", 1500};
  EXPECT_THAT(refusal(file), HasSubstr("port third (net_nothing7): "));
  file.ports.back() = {"third", "net_null2,no-rx=1", 9100};
  EXPECT_THAT(refusal(file), HasSubstr("packet buffers have"));
  file.ports.back() = {"third", "net_null2,no-rx=1", 1500};
  file.ports.back().queues = 16;
  file.ports.push_back({"fourth", "net_null3,no-rx=1", 1500});
  file.ports.back().queues = 16;
  EXPECT_THAT(refusal(file), HasSubstr("switch.memory.spare_queues"));
  // Opened before another of the same file could not be.
  file.ports = before.ports;
  file.ports.push_back({"third", "net_null2,no-rx=1", 1500});
  file.ports.push_back({"fourth", "net_nothing7", 1500});
  EXPECT_THAT(refusal(file), HasSubstr("port fourth (net_nothing7): "));
  EXPECT_TRUE(sw.get().apply(before).empty());
  EXPECT_THAT(names("ports"), ElementsAre("left", "right"));
  file.ports.pop_back();
  sw.get().apply(file);
  EXPECT_THAT(names("ports"), ElementsAre("left", "right", "third"));
}

// What a port's device is told at its start: the port is closed, and opened again.
TEST_F(ShowPortsTestTimed, C1_APortIsOpenedAgainWithMoreQueues) {
  file.ports[1].queues = 3;
  EXPECT_EQ(config::describe(sw.get().apply(file)), "changed: ports[1].queues");
  EXPECT_THAT(names("rxq"), ElementsAre("left", "right", "right", "right"));
  EXPECT_EQ(show.table("config"), config::dump(file));
  file.ports[0].devargs += ",size=100";  // it is in its own way
  file.ports[0].mtu = 2000;
  file.ports[1].queues = 1;
  EXPECT_EQ(config::describe(sw.get().apply(file)),
            "changed: ports[0].devargs, ports[0].mtu, ports[1].queues");
  EXPECT_THAT(names("rxq"), ElementsAre("left", "right"));
  EXPECT_EQ(show.table("ports")[0]["mtu"], 2000);
  EXPECT_EQ(show.table("ports")[0]["device"], "net_null0,no-rx=1,size=100");
  file.ports[0].mtu = 2100;
  EXPECT_EQ(config::describe(sw.get().apply(file)), "changed: ports[0].mtu");
  EXPECT_EQ(show.table("ports")[0]["mtu"], 2100);
  EXPECT_EQ(show.table("config"), config::dump(file));
  EXPECT_TRUE(sw.get().apply(file).empty());
  file.ports[0].mtu = 9100;
  EXPECT_THAT(refusal(file), HasSubstr("only a restart makes larger ones"));
}

TEST_F(ShowPortsTestTimed, C1_APortThatCannotBeOpenedAgainHasItsDeviceBack) {
  const auto good = file;
  file.ports[0].devargs = "net_null0,size=x";
  file.ports[0].queues = 2;
  file.ports[1].storm.broadcast_pps = 9;
  const config::Change change = sw.get().apply(file);
  EXPECT_TRUE(change.ports.down.empty());
  ASSERT_EQ(change.ports.as_before.size(), 1u);
  EXPECT_THAT(change.ports.as_before[0],
              HasSubstr("port left (net_null0,size=x): no receive queue"));
  const auto row = show.table("ports")[0];
  EXPECT_EQ(row["port"], "left");
  EXPECT_EQ(row["link"], "up");
  EXPECT_EQ(row["device"], good.ports[0].devargs);
  EXPECT_THAT(names("rxq"), ElementsAre("left", "right"));
  EXPECT_THAT(measured(), ElementsAre("left", "right"));
  EXPECT_EQ(sw.get().apply(file).ports.as_before.size(), 1u) << "it is tried again";
  EXPECT_EQ(sw.get().config().ports[1].storm.broadcast_pps, 9u) << "the rest holds";

  EXPECT_THAT(config::describe(sw.get().apply(good)), HasSubstr("ports[1].storm"));
  EXPECT_EQ(show.table("config"), config::dump(good));
}

// A slip in a file must not close a port that works.
TEST_F(ShowPortsTestTimed, C1_AnInterfaceThatIsNotThereIsRefusedBeforeAnythingChanges) {
  const auto before = show.table("config");
  file.ports[0].devargs = "net_af_packet0,iface=not-there";
  EXPECT_THAT(refusal(file), HasSubstr("port left (net_af_packet0,iface=not-there): there is no "
                                       "interface 'not-there' here"));
  EXPECT_THROW((void)sw.get().compare(file), std::invalid_argument) << "and by --dry-run";
  EXPECT_EQ(show.table("config"), before);
  EXPECT_EQ(show.table("ports")[0]["link"], "up");
}

// What can be known before is refused before, and then nothing has changed.
TEST_F(ShowPortsTestTimed, C1_WhatTheDeviceCannotDoIsRefusedWhole) {
  file.ports[0].devargs = "net_af_packet0,iface=lo";
  file.ports[0].mtu = 2000;
  file.ports[1].queues = 2;
  EXPECT_THAT(refusal(file), HasSubstr("lower the mtu"));
  file.ports[0].devargs = "net_null0,no-rx=1,size=100";
  file.ports.push_back({"third", "net_null0", 1500});
  EXPECT_THAT(refusal(file), HasSubstr("port third (net_null0): port left has a device of that "));
  EXPECT_THAT(names("rxq"), ElementsAre("left", "right"));
}

constexpr const char* kTables[] = {"ports",  "buffers", "jobs", "members", "slots",  "holds",
                                   "stages", "lcores",  "rxq",  "fdb",     "groups", "config"};

// Questions while another thread changes the configuration.
class ShowChangesTestTimed : public testing::Test {
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

TEST_F(ShowChangesTestTimed, C1_ADeviceThatOpensSlowlyKeepsNobodyWaiting) {
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
TEST_F(ShowChangesTestTimed, C1_AnAnswerIsOfOneConfiguration) {
  config::SwitchConfig other = file;
  other.ports[0].queues = 2;
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

// What a loop has been asked, by the end of its last turn, but for the looks of a StoppedLoop. On
// the loop, at each of these.
class Requests {
 public:
  explicit Requests(const dataplane::PacketLoop& packet_loop) : packet_loop_(&packet_loop) {}
  std::uint64_t so_far() {
    if (packet_loop_->counters().turns.get() != turn_) looks_before_ = looks_;
    turn_ = packet_loop_->counters().turns.get();
    ++looks_;
    const auto commands = static_cast<std::size_t>(dataplane::Stage::commands);
    return packet_loop_->stages()[commands].packets.get() - looks_before_;
  }

 private:
  const dataplane::PacketLoop* packet_loop_;
  std::uint64_t turn_ = 0;
  std::uint64_t looks_ = 0;
  std::uint64_t looks_before_ = 0;
};

// A packet loop that falls silent while a reload opens ports again.
class SilentLoopTestTimed : public testing::Test {
 protected:
  dataplane::PacketLoop& packet_loop() { return sw.get().packet_loops()[0]; }
  nlohmann::ordered_json row(std::size_t port) { return show.table("ports")[port]; }
  // True once a port is there that came after the first look.
  bool has_lane(std::size_t place) { return &packet_loop().port_counters(place) != nowhere_; }

  // It looks at its requests again at once.
  static config::SwitchConfig sleepless() {
    config::SwitchConfig config = null_config();
    config.idle_sleep_max = Duration();
    return config;
  }

  config::SwitchConfig file = sleepless();
  RunningSwitch sw{file};
  Show show{sw.get()};
  const dataplane::PortCounters* const nowhere_ = &packet_loop().port_counters(2);
};

// C1: its devices are open by then, and closed again: it is down, and says why.
TEST_F(SilentLoopTestTimed, C1_APortWhoseLoopIsSilentWhenItsDeviceIsThereStaysClosed) {
  const auto before = file;
  SilentPeer peer;
  file.ports[0].queues = 2;
  file.ports[1].devargs = "net_virtio_user7,path=" + peer.path;
  file.ports[1].queues = 2;
  auto applied = std::async(std::launch::async, [&] { return sw.get().apply(file); });
  peer.wait();
  StoppedLoop stopped(packet_loop(), [] { return true; });
  stopped.wait();
  peer.go();
  const config::Change change = applied.get();
  ASSERT_EQ(change.ports.down.size(), 2u);
  EXPECT_THAT(change.ports.down[0], AllOf(HasSubstr("port left (net_null0"), HasSubstr("loop")));
  EXPECT_THAT(change.ports.down[1], AllOf(HasSubstr("port right (net_virtio"), HasSubstr("loop")));
  EXPECT_TRUE(change.ports.as_before.empty());
  EXPECT_EQ(row(0)["note"], change.ports.down[0]);
  EXPECT_EQ(row(0)["link"], "down");
  stopped.go_on();
  EXPECT_TRUE(sw.get().apply(before).ports.down.empty());
  for (const std::size_t port : {0u, 1u}) {
    EXPECT_EQ(row(port)["link"], "up");
    EXPECT_TRUE(row(port)["note"].is_null());
  }
  EXPECT_EQ(show.table("config"), config::dump(before));
}

// C1: such ports stay closed until the next reload, and that is said.
TEST_F(SilentLoopTestTimed, C1_APortWhoseLoopIsSilentWhenItIsClosedWaitsForTheNextReload) {
  file.ports[0].queues = 2;
  // The first of the two changes has come to the loop, and it has not answered.
  StoppedLoop stopped(packet_loop(), [this] {
    for (const auto& queue : packet_loop().queues())
      if (queue.port == 0) return false;
    return true;
  });
  const config::Change change = sw.get().apply(file, Duration());
  EXPECT_EQ(config::describe(change), "changed: ports[0].queues");
  EXPECT_THAT(change.late, HasSubstr("did not answer"));
  EXPECT_THAT(change.ports.down,
              ElementsAre(AllOf(HasSubstr("port left (net_null0"), HasSubstr("did not answer"))));
  EXPECT_EQ(row(0)["link"], "down");
  EXPECT_THAT(std::string(row(0)["note"]), HasSubstr("port left (net_null0"));
  EXPECT_TRUE(row(1)["note"].is_null());
  stopped.go_on();
  // It may be named otherwise until then.
  file.ports[0].name = "lost";
  const config::Change again = sw.get().apply(file);
  EXPECT_EQ(again.late, "");
  EXPECT_TRUE(again.ports.down.empty());
  EXPECT_EQ(row(0)["link"], "up");
  EXPECT_TRUE(row(0)["note"].is_null());
  EXPECT_EQ(show.table("config"), config::dump(file));
}

// C1: of the second change, which opens it: it is open, and the loop takes it in when it wakes up.
TEST_F(SilentLoopTestTimed, C1_APortWhoseLoopIsSilentWhenItIsOpenedIsTakenInLater) {
  file.ports[0].queues = 2;
  // Each of the two changes asks whether it answers, and has it make room; what follows in the
  // second one finds it stopped, or stops it.
  StoppedLoop stopped(packet_loop(), [requests = Requests(packet_loop())]() mutable {
    return requests.so_far() >= 6;  // the first one is of four
  });
  const config::Change change = sw.get().apply(file, Duration::seconds(3));
  EXPECT_THAT(change.late, HasSubstr("did not answer"));
  EXPECT_TRUE(change.ports.down.empty());
  EXPECT_EQ(row(0)["link"], "up");
  EXPECT_TRUE(row(0)["note"].is_null());
  EXPECT_EQ(show.table("config"), config::dump(file));
  ASSERT_EQ(packet_loop().queues().size(), 1u) << "it polls the other port alone";
  EXPECT_NE(sw.get().apply(file).late, "");
  stopped.go_on();
  EXPECT_EQ(sw.get().apply(file).late, "");
  EXPECT_EQ(packet_loop().queues().size(), 3u);
  EXPECT_TRUE(sw.get().apply(file).empty());
}

// It is the configuration from then on, and who asks for it once more is told how it stands.
TEST_F(SilentLoopTestTimed, WhatALoopIsLateForIsTaken) {
  file.ports.push_back({"third", "net_null2,no-rx=1", 1500});
  StoppedLoop stopped(packet_loop(), [this] { return has_lane(2); });
  const config::Change change = sw.get().apply(file, Duration());
  EXPECT_EQ(config::describe(change), "changed: port third added");
  EXPECT_THAT(change.late, HasSubstr("did not answer"));
  stopped.wait();
  EXPECT_EQ(config::dump(sw.get().config()), config::dump(file));
  const config::Change silent = sw.get().apply(file);
  EXPECT_TRUE(silent.empty());
  EXPECT_NE(silent.late, "") << "the loop has yet to come to it";
  auto next = file;
  next.ports[0].storm.broadcast_pps = 9;
  EXPECT_THROW(sw.get().apply(next), std::runtime_error) << "before it has, nothing else is taken";
  EXPECT_EQ(config::dump(sw.get().config()), config::dump(file));
  stopped.go_on();
  EXPECT_EQ(sw.get().apply(file).late, "");
  EXPECT_EQ(packet_loop().queues().size(), 3u);
  EXPECT_EQ(sw.get().apply(next).late, "");
}

}  // namespace
}  // namespace tributary::control
