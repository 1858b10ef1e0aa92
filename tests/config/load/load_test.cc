// Files as users write them: accepted whole, or refused with every mistake at its place.
#include "config/load/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "config/schema/schema_acl.h"
#include "config/text/file.h"
#include "config/topology/topology.h"
#include "tests/config/sample.h"
#include "tests/source_dir.h"
#include "tests/testbed/scratch.h"

namespace tributary::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string load_error(const std::string& path) {
  try {
    (void)load_switch_config(path);
  } catch (const ConfigErrors& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Load, FillsEveryField) {
  const SwitchConfig c = parse_switch_config(kSample, "f.yaml");
  EXPECT_EQ(c.name, "leaf0");
  EXPECT_EQ(c.ipv4, 0x0A4D00FEu);
  EXPECT_EQ(c.mac, (wire::MacAddress{0x02, 0x74, 0x0A, 0x4D, 0x00, 0xFE}));
  EXPECT_EQ(c.udp_base_port, 47000);
  EXPECT_EQ(c.slots, 4096u);
  EXPECT_EQ(c.lcore, 0);
  EXPECT_EQ(c.idle_sleep_max, Duration::us(200));
  EXPECT_FALSE(c.memory.hugepages);
  EXPECT_EQ(c.memory.megabytes, 256u);
  ASSERT_EQ(c.ports.size(), 2u);
  EXPECT_EQ(c.ports[0].name, "w0");
  EXPECT_EQ(c.ports[0].devargs, "net_null0,copy=1");
  EXPECT_EQ(c.ports[0].mtu, 9000u);
  ASSERT_EQ(c.jobs.size(), 1u);
  const JobConfig& job = c.jobs[0];
  EXPECT_EQ(job.id, 1u);
  EXPECT_EQ(job.name, "train");
  EXPECT_EQ(job.workers, 2u);
  EXPECT_EQ(job.window, 64u);
  EXPECT_EQ(job.chunk_bytes, 8192u);
  EXPECT_EQ(job.shards, 1);
  EXPECT_EQ(job.deadline, Duration::seconds(30));
  EXPECT_EQ(job.on_deadline, OnDeadline::escalate);
  EXPECT_EQ(job.lease, Duration::seconds(10));
  EXPECT_EQ(job.integrity, wire::Integrity::udp_checksum);
  ASSERT_EQ(job.members.size(), 2u);
  EXPECT_EQ(job.members[1].rank, 1u);
  EXPECT_EQ(job.members[1].port, "w1");
  EXPECT_EQ(c.forwarding.fdb_entries, 4096u);
  EXPECT_EQ(c.forwarding.fdb_ageing, Duration::seconds(300));
  ASSERT_EQ(c.forwarding.static_macs.size(), 1u);
  EXPECT_EQ(c.forwarding.static_macs[0].mac, (wire::MacAddress{0, 0, 0x5E, 0, 1, 1}));
  EXPECT_EQ(c.forwarding.static_macs[0].port, "w0");
  EXPECT_EQ(c.metrics_listen, "127.0.0.1:9400");
  EXPECT_EQ(c.control_socket, "/run/tributary/switchd.sock");
}

TEST(Load, LeavesDefaultsWhereKeysAreAbsent) {
  const SwitchConfig c = parse_switch_config(
      "switch: {address: 10.0.0.1}\n"
      "ports: [{name: a, devargs: net_null0}]\n"
      "jobs: [{id: 70000, workers: 3}]\n"
      "forwarding:\n",
      "f.yaml");
  const SwitchConfig defaults;
  EXPECT_EQ(c.name, defaults.name);
  EXPECT_FALSE(c.mac.has_value());
  EXPECT_EQ(c.lcore, -1);
  EXPECT_EQ(c.ports[0].mtu, 1500u);
  EXPECT_EQ(c.jobs[0].name, "job-70000");
  EXPECT_EQ(c.jobs[0].window, JobConfig{}.window);
  EXPECT_EQ(c.forwarding.fdb_ageing, defaults.forwarding.fdb_ageing);
  EXPECT_EQ(c.metrics_listen, "");
  EXPECT_EQ(c.control_socket, "");
}

TEST(Load, DumpReadsBackToTheSame) {
  for (const auto& entry : std::filesystem::directory_iterator(tests::source_dir() + "/examples")) {
    if (entry.path().extension() != ".yaml" || is_topology(read_file(entry.path()))) continue;
    const std::string once = dump(load_switch_config(entry.path()));
    EXPECT_EQ(dump(parse_switch_config(once, "dump")), once) << entry.path();
  }
  // Every line of the sample changes a default or repeats it: the dump keeps all of them.
  const std::string once = dump(parse_switch_config(kSample, "f.yaml"));
  EXPECT_EQ(dump(parse_switch_config(once, "dump")), once);
  for (const char* value : {"leaf0", "10.77.0.254", "02:74:0a:4d:00:fe", "47000", "200us", "256",
                            "net_null0,copy=1", "train", "8192", "30s", "10s", "udp-checksum",
                            "300s", "00:00:5e:00:01:01", "127.0.0.1:9400", "switchd.sock"})
    EXPECT_THAT(once, HasSubstr(value));
}

TEST(Load, DumpQuotesWhatYamlWouldReadAsSomethingElse) {
  for (const char* name : {"true", "null", "1", "0x10", "-", ".5", "No", "w0"}) {
    SwitchConfig c = parse_switch_config(kSample, "f.yaml");
    c.name = name;
    EXPECT_EQ(parse_switch_config(dump(c), "dump").name, name);
  }
}

TEST(Load, ExamplesAreAccepted) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tests::source_dir() + "/examples")) {
    if (entry.path().extension() != ".yaml" || is_topology(read_file(entry.path()))) continue;
    EXPECT_EQ(load_error(entry.path()), "accepted");
    ++count;
  }
  EXPECT_GE(count, 3);
}

TEST(Load, ReportsAllMistakesAtOnceInFileOrder) {
  EXPECT_THAT(
      errors_of("switch:\n"
                "  adress: 10.0.0.1\n"
                "  slots: many\n"
                "ports:\n"
                "  - {name: w0, devargs: net_null0, mtu: 20}\n"
                "  - {name: w0, devargs: net_null1}\n"
                "jobs: {id: 1}\n"
                "metrics: {listen: here}\n"),
      ElementsAre(
          StartsWith("f.yaml:2:3: switch.adress: unknown key; did you mean 'address'?; allowed: "
                     "name, address, mac,"),
          StartsWith("f.yaml:2:3: switch.address: is missing"),
          StartsWith("f.yaml:3:10: switch.slots: 'many' is not an integer; allowed: 1 to 1048576"),
          StartsWith("f.yaml:5:41: ports[0].mtu: '20' is out of range; allowed: 256 to 9216"),
          "f.yaml:6:12: ports[1].name: name 'w0' is already used by ports[0].name on line 5",
          StartsWith("f.yaml:7:7: jobs: is a mapping; allowed: a list of 0 to 256 mappings"),
          StartsWith("f.yaml:8:19: metrics.listen: 'here' is not an address and a port")));
}

TEST(Load, ManyMistakesAreSummarised) {
  std::string text = "switch: {address: 10.0.0.1}\nports:\n";
  for (int i = 0; i < 32; ++i)
    text += "  - {name: p, devargs: net_null0, mtu: 1, a: 1, b: 2, c: 3, d: 4}\n";
  const auto errors = errors_of(text);
  EXPECT_EQ(errors.size(), 100u);
  EXPECT_THAT(errors.back(), HasSubstr("more errors after this line"));
}

TEST(Load, EmptyFileNamesWhatIsRequired) {
  for (const char* text : {"", "\n\n", "null\n"})
    EXPECT_THAT(errors_of(text), ElementsAre("f.yaml:1:1: switch: is missing; it is required",
                                             "f.yaml:1:1: ports: is missing; it is required"))
        << text;
  EXPECT_THAT(errors_of("just text\n"),
              ElementsAre("f.yaml:1:1: is a single value; allowed: a mapping of keys"));
}

TEST(Load, UnreadableFilesAreNamed) {
  const testbed::Scratch dir;
  EXPECT_EQ(load_error(dir.file("absent")),
            dir.file("absent") + ": cannot open: No such file or directory");
  std::filesystem::create_directory(dir.file("d"));
  EXPECT_EQ(load_error(dir.file("d")), dir.file("d") + ": is a directory; allowed: a YAML file");
  // A FIFO without a writer would block an ordinary open() for ever.
  ASSERT_EQ(::mkfifo(dir.file("fifo").c_str(), 0600), 0);
  EXPECT_THAT(load_error(dir.file("fifo")), HasSubstr("is not a regular file"));
  EXPECT_THAT(load_error("/dev/zero"), HasSubstr("is not a regular file"));
}

TEST(Load, HugeFilesAreRefusedWithoutReadingThem) {
  const testbed::Scratch dir;
  std::ofstream(dir.file("huge")) << "x";
  std::filesystem::resize_file(dir.file("huge"), std::uintmax_t{1} << 40);  // sparse
  EXPECT_THAT(load_error(dir.file("huge")), HasSubstr("too large; allowed: at most 1048576 bytes"));
}

TEST(Load, SwitchingKeysReadBackToTheSame) {
  const char* const text =
      "switch: {address: 10.77.0.254}\n"
      "ports:\n"
      "  - {name: a, devargs: net_null0, vlan: {mode: access, id: 10}, max_addresses: 4,\n"
      "     storm: {broadcast: 10, multicast: 20, unknown_unicast: 30}}\n"
      "  - {name: b, devargs: net_null1, vlan: {mode: trunk, allowed: [10, 100-199], native: 7}}\n"
      "forwarding:\n"
      "  snooping: {enabled: true, groups: 64, membership: 10s, router_ports: [b],\n"
      "             host_ports: [a], flood_unknown: false}\n"
      "  lldp: {enabled: true, interval: 1900ms, hold: 2}\n"
      "acl:\n"
      "  default: deny\n"
      "  rules:\n"
      "    - {action: allow, port: a, vlan: 10-20, source: 10.0.0.0/8, protocol: tcp,\n"
      "       destination_ports: 80}\n"
      "    - {name: v6, destination: \"2001:db8::/32\", protocol: 89, ether_type: ipv6}\n"
      "    - {action: allow, ether_type: 0x88b5}\n";
  const SwitchConfig c = parse_switch_config(text, "f.yaml");
  EXPECT_EQ(text_of(c.ports[0].vlan), "access 10");
  EXPECT_EQ(text_of(c.ports[1].vlan), "trunk 10,100-199 native 7");
  EXPECT_TRUE(carries(c.ports[1].vlan, 150) && carries(c.ports[1].vlan, 7));
  EXPECT_FALSE(carries(c.ports[1].vlan, 99));
  EXPECT_EQ(c.ports[0].storm.unknown_unicast_pps, 30u);
  EXPECT_EQ(c.acl.otherwise, AclAction::deny);
  ASSERT_EQ(c.acl.rules.size(), 3u);
  EXPECT_EQ(match_text(c.acl.rules[0]),
            "port: a, vlan: 10-20, source: 10.0.0.0/8, protocol: tcp, destination_ports: 80");
  EXPECT_EQ(match_text(c.acl.rules[1]),
            "ether_type: ipv6, destination: 2001:db8::/32, protocol: 89");
  EXPECT_EQ(c.acl.rules[1].action, AclAction::deny);
  EXPECT_EQ(c.acl.rules[2].ether_type, 0x88B5);
  EXPECT_EQ(c.forwarding.snooping.router_ports, std::vector<std::string>{"b"});
  EXPECT_EQ(c.forwarding.snooping.host_ports, std::vector<std::string>{"a"});
  EXPECT_TRUE(c.forwarding.lldp.enabled);
  EXPECT_EQ(lldp_ttl_seconds(c.forwarding.lldp), 4) << "what 3.8 s need";
  const std::string once = dump(c);
  EXPECT_EQ(dump(parse_switch_config(once, "dump")), once);
}

// C1: a file that says nothing of it has room for jobs that come later.
TEST(Load, C1_MemoryIsReservedForLaterJobs) {
  const auto reserve = [](const std::string& memory) {
    const std::string keys = "{address: 10.0.0.1, memory: {" + memory + "}}";
    const std::string ports = "[{name: a, devargs: net_null0}]";
    const auto alone =
        parse_switch_config("switch: " + keys + "\nports: " + ports + "\n", "f.yaml");
    const Topology tree =
        parse_topology("switches:\n  - {name: s, id: 1, address: 10.0.0.1, memory: {" + memory +
                           "}, ports: " + ports + "}\n",
                       "t.yaml");
    EXPECT_EQ(tree.switches[0].config.memory.reserve_megabytes, alone.memory.reserve_megabytes);
    EXPECT_EQ(parse_switch_config(dump(alone), "f.yaml").memory.reserve_megabytes,
              alone.memory.reserve_megabytes);
    return alone.memory.reserve_megabytes;
  };
  EXPECT_EQ(reserve(""), 32u);
  EXPECT_EQ(reserve("aggregation_megabytes: 4096"), 32u);
  EXPECT_EQ(reserve("aggregation_megabytes: 128"), 4u) << "a tight limit is not spent on it";
  EXPECT_EQ(reserve("aggregation_megabytes: 31"), 0u);
  EXPECT_EQ(reserve("reserve_megabytes: 0"), 0u);
  EXPECT_EQ(reserve("reserve_megabytes: 100"), 100u);
}

}  // namespace
}  // namespace tributary::config
