// Tables of `show` that may be large: a packet loop is asked for them a piece at a time. Code that
// asks for all of one at once, which would stop packets for milliseconds, fails here.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "control/show/show.h"
#include "control/text/show_text.h"
#include "tests/control/running_switch.h"
#include "tests/dataplane/group_frame.h"

namespace tributary::control {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kJobs = 5;
constexpr std::uint32_t kWorkers = 200;  // of each
constexpr std::uint32_t kWindow = config::kMaxWindow;
constexpr std::size_t kGroups = 700;
constexpr std::uint32_t kAddresses = 3000;

// Large tables, and a loop that does not sleep: it looks at its requests at once.
config::SwitchConfig large_config() {
  config::SwitchConfig config = null_config();
  config.idle_sleep_max = Duration();
  config.slots = kJobs * kWindow;
  config.forwarding.fdb_entries = 65536;
  config.forwarding.snooping.enabled = true;
  config.forwarding.snooping.groups = config::kMaxGroups;
  config::JobConfig job = config.jobs.front();
  job.workers = kWorkers;
  job.window = kWindow;
  job.chunk_bytes = 64;
  config.jobs.clear();
  for (std::uint32_t i = 0; i < kJobs; ++i) {
    job.id = 1 + i;
    job.name = "job" + std::to_string(job.id);
    config.jobs.push_back(job);
  }
  return config;
}

class ShowPieces : public testing::Test {
 protected:
  dataplane::PacketLoop& packet_loop() { return sw.get().packet_loops()[0]; }

  // Requests that the loop has had, those that it is at included: they count when it has done them.
  std::uint64_t requests() {
    const auto turn = packet_loop().counters().turns.get();
    while (packet_loop().counters().turns.get() < turn + 2) std::this_thread::yield();
    return packet_loop()
        .stages()[static_cast<std::size_t>(dataplane::Stage::commands)]
        .packets.get();
  }
  // The table, and how many requests it took.
  std::pair<ordered_json, std::uint64_t> ask(const std::string& what) {
    const std::uint64_t before = requests();
    ordered_json table = show.table(what);
    return {std::move(table), requests() - before};
  }
  // How many rows differ by these keys.
  static std::size_t distinct(const ordered_json& table, const std::vector<const char*>& keys) {
    std::set<std::string> seen;
    for (const auto& row : table) {
      std::string name;
      for (const char* key : keys) name += row.at(key).dump() + "/";
      seen.insert(name);
    }
    return seen.size();
  }

  RunningSwitch sw{large_config()};
  Show show{sw.get()};
};

TEST_F(ShowPieces, O1_OfManyMembersAFewJobsARequest) {
  constexpr std::size_t kMembers = kJobs * kWorkers;
  constexpr std::size_t kMostARequest = 256 + kWorkers;
  constexpr std::size_t kLeast = kMembers / kMostARequest + 1;
  const auto [members, requests] = ask("members");
  EXPECT_GE(requests, kLeast);
  EXPECT_EQ(members.size(), kMembers);
  EXPECT_EQ(distinct(members, {"job", "rank"}), kMembers);
  const auto [jobs, of_jobs] = ask("jobs");
  EXPECT_GE(of_jobs, kLeast);
  EXPECT_EQ(distinct(jobs, {"job"}), kJobs);
  EXPECT_GE(ask("tree").second, kLeast);
}

TEST_F(ShowPieces, O1_OfManyChildrenAFewARequest) {
  constexpr std::size_t kChildren = kJobs * kWorkers;
  const auto [rows, requests] = ask("stragglers");
  EXPECT_GE(requests, kChildren / 128);
  EXPECT_EQ(rows.size(), kChildren);
  EXPECT_EQ(distinct(rows, {"job", "node"}), kChildren);
}

TEST_F(ShowPieces, O1_OfLargeTablesOfChunksSoManyPlacesARequest) {
  const auto [rows, requests] = ask("slots");
  EXPECT_TRUE(rows.empty());
  EXPECT_GE(requests, kJobs * kWindow / 4096);
}

TEST_F(ShowPieces, O1_OfManyGroupsSoManyPlacesARequest) {
  on_loop(packet_loop(), [](dataplane::PacketLoop& w, Instant now) {
    // As if reports had come in; it is this loop's, and this is this loop.
    auto& snooping = const_cast<dataplane::Snooping&>(*w.snooping());
    dataplane::PortMask to = 0;
    for (std::uint32_t n = 0; n < kGroups; ++n) {
      const auto frame = dataplane::igmp_frame(0x16, 0xE0020000 + n);
      const auto view = std::get<wire::EthernetView>(wire::parse_ethernet(frame));
      snooping.way_of(1, view, true, 0, now, to);
    }
    return 0;
  });
  const auto [rows, requests] = ask("groups");
  EXPECT_GE(requests, config::kMaxGroups / 256);
  EXPECT_EQ(rows.size(), kGroups);
  EXPECT_EQ(distinct(rows, {"vlan", "group"}), kGroups);
}

TEST_F(ShowPieces, O1_OfManyAddressesSoManyPlacesARequest) {
  on_loop(packet_loop(), [](dataplane::PacketLoop& w, Instant now) {
    auto& fdb = const_cast<dataplane::Fdb&>(w.fdb());
    for (std::uint32_t n = 0; n < kAddresses; ++n)
      fdb.learn({2, 0, 1, 0, static_cast<std::uint8_t>(n >> 8), static_cast<std::uint8_t>(n)}, 0, 0,
                now);
    return 0;
  });
  const std::uint64_t places = sw.get().config().forwarding.fdb_entries;
  const auto [rows, requests] = ask("fdb");
  EXPECT_GE(requests, places / 1024);
  EXPECT_EQ(rows.size(), kAddresses + 1) << "and the static one";
  EXPECT_EQ(distinct(rows, {"mac", "vlan"}), kAddresses + 1);
  EXPECT_GE(ask("vlans").second, places / 1024);
}

}  // namespace
}  // namespace tributary::control
