// A running switch on network cards: a reload moves jobs, queues and ports, its cards' rules
// follow, and `show rxq` says how things stand.
#include "dataplane/switch/switch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "control/show/show.h"
#include "tests/dataplane/job_ranks.h"
#include "tests/dataplane_nic/fake_nic.h"
#include "tests/dataplane_nic/nic_eal.h"

namespace tributary::dataplane {
namespace {

using Rules = std::vector<FakeNic::Rule>;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t kSwitch = 0x0A4D00FE;
constexpr std::uint64_t kHash = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_UDP;

// Two planes, of these lcores: with rules, UDP port 47000 goes to the first one's queue.
Rules rules_of(std::uint16_t first, std::uint16_t second) {
  return {{kSwitch, 47000, first}, {kSwitch, 47001, second}};
}

template <typename F>
void wait_for(F holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("it never came");
    std::this_thread::yield();
  }
}

class SwitchOnCardsTimed : public testing::Test {
 protected:
  SwitchOnCardsTimed() {
    start_nic_eal();
    file = nic_config({"net_fake0", "net_fake1"});
    file.jobs = {planes_of(4, {1, 0})};
    file.memory.reserve_megabytes = 4;
  }
  void start() {
    sw.emplace(file, [this](const std::string& line) { reports.push_back(line); });
    show.emplace(*sw);
  }
  nlohmann::ordered_json row(const std::string& port, int queue) {
    for (const auto& row : show->table("rxq"))
      if (row["port"] == port && row["queue"] == queue) return row;
    return {};
  }
  // How its cards steer: steering, rules, device_says; "-" for null.
  std::vector<std::string> way(const std::string& port) {
    const auto of = row(port, 0);
    const auto text = [](const auto& cell) {
      return cell.is_null() ? std::string("-") : cell.template get<std::string>();
    };
    return {text(of["steering"]), std::to_string(of["rules"].get<int>()), text(of["device_says"])};
  }

  FakeNic first{"net_fake0", {.hashes = kHash}};
  FakeNic second{"net_fake1", {.hashes = kHash}};
  FakeNic hardware{"net_fake:0.1"};  // as far as the switch can tell
  config::SwitchConfig file;
  std::vector<std::string> reports;
  std::optional<Switch> sw;
  std::optional<control::Show> show;
};

TEST_F(SwitchOnCardsTimed, Rule16_CardsAreAskedAtTheStartAndWhatTheySayIsShown) {
  second.can.refuses_rules = "not in this mode";
  start();
  EXPECT_EQ(first.rules(), rules_of(1, 0));
  EXPECT_THAT(way("p0"), ElementsAre("flow", "2", "-"));
  EXPECT_THAT(way("p1"),
              ElementsAre("rss", "0", "rte_flow refused: not in this mode (rule 1 of 2)"));
  sw.reset();
  EXPECT_THAT(first.rules(), IsEmpty());
  EXPECT_EQ(first.record().rules_when_stopped, 0u);
}

TEST_F(SwitchOnCardsTimed, Rule16_RulesFollowJobsThatMove) {
  start();
  file.jobs[0].lcores = {0, 1};
  sw->apply(file);
  for (const FakeNic* nic : {&first, &second}) {
    EXPECT_EQ(nic->rules(), rules_of(0, 1));
    EXPECT_EQ(nic->record().made, 4u);
    EXPECT_EQ(nic->record().removed, 2u);
    EXPECT_EQ(nic->record().started, 1u) << "it runs on";
  }
  // A job that shares numbers with it, and is of one lcore: what is in doubt has no rule.
  file.jobs.push_back(job_of(6));
  sw->apply(file);
  EXPECT_EQ(first.rules(), rules_of(0, 1)) << "lcore 0, as the others of that number";
  file.jobs.back() = job_of(7);
  sw->apply(file);
  EXPECT_EQ(first.rules(), (Rules{{kSwitch, 47001, 1}}));
  file.jobs.clear();
  sw->apply(file);
  EXPECT_THAT(first.rules(), IsEmpty());
  EXPECT_THAT(way("p0"), ElementsAre("rss", "0", "-"));
}

// Packets are counted where the card's rule has brought them, before and after a queue has moved,
// and nothing is handed over.
TEST_F(SwitchOnCardsTimed, Rule16_RulesFollowQueuesThatMove) {
  file.idle_sleep_max = Duration();
  start();
  TestWorker rank(file, 4, 0, 2);
  std::uint64_t joins = 0;
  // The lcore whose queue it is, and that has received it from there.
  const auto comes_to = [&](std::uint8_t plane) {
    rank.plane = plane;
    rank.udp_offset = plane;
    const auto packets = [&](int queue) { return row("p0", queue)["packets"].get<int>(); };
    const std::array before = {packets(0), packets(1)};
    const std::size_t queue = first.arrive(rank.join(++joins));
    wait_for([&] { return packets(static_cast<int>(queue)) == before[queue] + 1; });
    return row("p0", static_cast<int>(queue))["lcore"].get<int>();
  };
  EXPECT_EQ(comes_to(0), 1);
  EXPECT_EQ(comes_to(1), 0);
  file.ports[0].lcores = {1, 0};
  sw->apply(file);
  EXPECT_EQ(first.rules(), rules_of(0, 1));
  EXPECT_EQ(second.rules(), rules_of(1, 0));
  EXPECT_EQ(comes_to(0), 1);
  EXPECT_EQ(comes_to(1), 0);
  // What is handed over is so at the end of a turn.
  for (const auto& packet_loop : sw->packet_loops()) {
    const std::uint64_t turns = packet_loop->counters().turns.get();
    wait_for([&] { return packet_loop->counters().turns.get() >= turns + 2; });
  }
  EXPECT_EQ(sw->packet_loops().port_counters(0).rx_packets.get(), joins);
  for (const auto& path : show->table("handover")) EXPECT_EQ(path["jobs"], 0);
}

TEST_F(SwitchOnCardsTimed, PortsThatGoTakeTheirRulesWithThem) {
  start();
  const auto both = file;
  file.ports.pop_back();
  sw->apply(file);
  EXPECT_EQ(second.record().removed, 2u);
  EXPECT_EQ(second.record().rules_when_stopped, 0u);
  EXPECT_EQ(second.record().closed, 1u);
  EXPECT_EQ(first.rules(), rules_of(1, 0));
  EXPECT_EQ(first.record().made, 2u) << "nothing is another's affair";
  sw->apply(both);
  EXPECT_EQ(second.rules(), rules_of(1, 0));
  EXPECT_THAT(way("p1"), ElementsAre("flow", "2", "-"));
}

TEST_F(SwitchOnCardsTimed, APortThatIsOpenedAgainHasRulesForItsQueues) {
  start();
  file.ports[0].queues = 1;
  file.ports[0].lcores = {0};
  sw->apply(file);
  EXPECT_EQ(first.record().rules_when_stopped, 0u);
  EXPECT_EQ(first.record().started, 2u);
  EXPECT_THAT(first.rules(), IsEmpty());
  EXPECT_THAT(way("p0"), ElementsAre("-", "0", "-"));
  file.ports[0].queues = 3;
  file.ports[0].lcores = {0, 0, 1};
  sw->apply(file);
  EXPECT_EQ(first.rules(), rules_of(2, 0));
  EXPECT_THAT(way("p0"), ElementsAre("flow", "2", "-"));
}

TEST_F(SwitchOnCardsTimed, ACardThatRefusesToStartAgainStaysClosedAndSaysWhy) {
  start();
  first.can.refuses = Ask::start;
  file.ports[0].queues = 3;
  file.ports[0].lcores = {0, 1, 1};
  const config::Change change = sw->apply(file);
  ASSERT_THAT(change.ports.down, ElementsAre(HasSubstr("the device does not start")));
  EXPECT_EQ(show->table("ports")[0]["note"], change.ports.down[0]);
  EXPECT_THAT(first.rules(), IsEmpty());
  EXPECT_EQ(second.rules(), rules_of(1, 0));
  first.can.refuses = Ask::nothing;
  EXPECT_THAT(sw->apply(file).ports.down, IsEmpty());
  EXPECT_TRUE(show->table("ports")[0]["note"].is_null());
  EXPECT_EQ(first.rules(), rules_of(1, 0));
}

TEST_F(SwitchOnCardsTimed, ACardIsToldAnotherMtuUpToWhatItTakes) {
  hardware.can.most_mtu = 3000;
  file.ports[0].mtu = 4000;  // so that buffers hold as much
  file.ports[1].devargs = hardware.name();
  start();
  file.ports[1].mtu = 3001;
  try {
    sw->apply(file);
    ADD_FAILURE() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("mtu: 3001; the device takes up to 3000"));
  }
  EXPECT_EQ(hardware.record().closed, 0u) << "it is as it was";
  file.ports[1].mtu = 3000;
  EXPECT_THAT(sw->apply(file).ports.down, IsEmpty());
  EXPECT_EQ(hardware.record().started, 2u);
  EXPECT_EQ(hardware.record().conf.rxmode.mtu, 3000u);
}

TEST_F(SwitchOnCardsTimed, ACardWithoutPromiscuousModeIsReported) {
  hardware.can.refuses = Ask::promiscuous;
  file.ports[1].devargs = hardware.name();
  start();
  constexpr const char* kWhat =
      "takes only frames to its own address, promiscuous mode is refused: Input/output error";
  EXPECT_THAT(reports, ElementsAre(std::string("port p1 ") + kWhat));
  EXPECT_EQ(show->table("ports")[1]["note"], kWhat);
}

}  // namespace
}  // namespace tributary::dataplane
