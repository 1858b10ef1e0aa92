// Files of parameter servers: read whole or refused with every mistake at its place.
#include "config/server/server_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/plan/memory_plan.h"
#include "tests/config/sample.h"

namespace tributary::config {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kFile =
    "server: {name: ps1, address: 10.77.0.21, udp_port: 5000, megabytes: 32, heartbeat: 50ms}\n"
    "jobs:\n"
    "  - id: 7\n"
    "    workers: 3\n"
    "    window: 8\n"
    "    chunk_bytes: 512\n"
    "    shards: 2\n"
    "    order: reproducible\n"
    "    bracketing: [[0, 1], 2]\n"
    "    root: 10.77.0.254\n"
    "    root_udp_port: 6000\n"
    "control: {socket: /run/ps1.sock}\n";

std::vector<std::string> server_errors(const std::string& text) {
  return errors_of(text, parse_server_config, "ps.yaml");
}

TEST(ServerConfig, FillsEveryField) {
  const ServerConfig c = parse_server_config(kFile, "ps.yaml");
  EXPECT_EQ(c.name, "ps1");
  EXPECT_EQ(c.ipv4, 0x0A4D0015u);
  EXPECT_EQ(c.udp_port, 5000);
  EXPECT_EQ(c.megabytes, 32u);
  EXPECT_EQ(c.heartbeat, Duration::ms(50));
  EXPECT_EQ(c.control_socket, "/run/ps1.sock");
  ASSERT_EQ(c.jobs.size(), 1u);
  EXPECT_EQ(c.jobs[0].job.id, 7u);
  EXPECT_EQ(c.jobs[0].job.name, "job-7");
  EXPECT_EQ(c.jobs[0].job.shards, 2);
  EXPECT_TRUE(c.jobs[0].job.bracketing);
  EXPECT_EQ(c.jobs[0].root_ipv4, 0x0A4D00FEu);
  EXPECT_EQ(c.jobs[0].root_udp_port, 6000);
  const ServerConfig again = parse_server_config(dump(c), "dump");
  EXPECT_EQ(dump(again), dump(c));
}

TEST(ServerConfig, APortOfItsOwnCarriesItsPackets) {
  const auto file = [](const std::string& dpdk) {
    return "server: {address: 10.77.0.21, dpdk: {" + dpdk +
           "}}\n"
           "jobs: [{id: 1, workers: 2, chunk_bytes: 8192, root: 10.77.0.254}]\n";
  };
  const ServerConfig c =
      parse_server_config(file("devargs: net_memif0, mtu: 9000, idle_sleep_max: 0s"), "ps.yaml");
  EXPECT_EQ(c.dpdk.devargs, "net_memif0");
  EXPECT_EQ(c.dpdk.mtu, 9000u);
  EXPECT_EQ(dump(parse_server_config(dump(c), "dump")), dump(c));
  EXPECT_THAT(server_errors(file("mtu: 9000")),
              ElementsAre(StartsWith("ps.yaml:1:37: server.dpdk.devargs: is missing")));
  EXPECT_THAT(server_errors(file("devargs: net_memif0")),
              ElementsAre(AllOf(StartsWith("ps.yaml:1:37: server.dpdk.mtu: 1500 bytes are less "
                                           "than packets of its jobs have; allowed: at least 8"),
                                HasSubstr(", or server.dpdk.fragments.datagrams "))));
}

TEST(ServerConfig, C1_WhereItCutsPacketsTheirSizeIsFree) {
  const ServerConfig c = parse_server_config(
      "server: {address: 10.77.0.21, dpdk: {devargs: net_pcap0, fragments: {datagrams: 64, "
      "timeout: 50ms}}}\n"
      "jobs: [{id: 1, workers: 2, chunk_bytes: 8192, root: 10.77.0.254}]\n",
      "ps.yaml");
  EXPECT_EQ(c.dpdk.mtu, 1500u);
  EXPECT_EQ(c.dpdk.fragments.datagrams, 64u);
  EXPECT_EQ(c.dpdk.fragments.timeout, Duration::ms(50));
  EXPECT_EQ(dump(parse_server_config(dump(c), "dump")), dump(c));
}

TEST(ServerConfig, EveryMistakeHasItsPlace) {
  EXPECT_THAT(
      server_errors("server: {adress: 10.0.0.1}\njobs:\n  - {id: 1, workers: 2, slots: 4}\n"),
      ElementsAre(StartsWith("ps.yaml:1:9: server.address: is missing"),
                  StartsWith("ps.yaml:1:10: server.adress: unknown key; did you mean "
                             "'address'?"),
                  StartsWith("ps.yaml:3:5: jobs[0].root: is missing"),
                  StartsWith("ps.yaml:3:25: jobs[0].slots: unknown key")));
  EXPECT_THAT(server_errors("server: {address: 10.0.0.1}\njobs:\n"
                            "  - {id: 1, workers: 2, root: 10.0.0.1}\n"
                            "  - {id: 1, workers: 2, root: 10.0.0.2, bracketing: [0, 1]}\n"),
              ElementsAre(StartsWith("ps.yaml:3:31: jobs[0].root: is the server's own address"),
                          StartsWith("ps.yaml:4:10: jobs[1].id: id 1 is already used by jobs[0]"),
                          StartsWith("ps.yaml:4:53: jobs[1].bracketing: has no meaning with order: "
                                     "fast")));
}

constexpr const char* kWithModel =
    "server: {address: 10.0.0.1}\n"
    "jobs:\n"
    "  - id: 1\n"
    "    workers: 2\n"
    "    root: 10.0.0.2\n"
    "    optimizer:\n"
    "      kind: adam\n"
    "      parameters: [1000, 24]\n"
    "      rate: 2.5e-3\n"
    "      beta2: 0.95\n"
    "      schedule: {kind: cosine, warmup: 10, steps: 90, least: 1e-5}\n"
    "      checkpoint: {directory: /var/lib/tributary, every: 25}\n";

// T21: what a model is made of; everything is read, and written so that it reads the same.
TEST(ServerConfig, AJobMayHaveAModel) {
  const ServerConfig c = parse_server_config(kWithModel, "ps.yaml");
  const OptimizerConfig& o = c.jobs[0].optimizer;
  EXPECT_EQ(o.kind, OptimizerKind::adam);
  EXPECT_THAT(o.parameters, ElementsAre(1000, 24));
  EXPECT_EQ(o.rate, 2.5e-3);
  EXPECT_EQ(o.beta1, 0.9);
  EXPECT_EQ(o.beta2, 0.95);
  EXPECT_EQ(o.schedule.kind, ScheduleKind::cosine);
  EXPECT_EQ(o.schedule.warmup, 10u);
  EXPECT_EQ(o.schedule.least, 1e-5);
  EXPECT_EQ(o.checkpoint.directory, "/var/lib/tributary");
  EXPECT_EQ(o.checkpoint.every, 25u);
  const ServerConfig again = parse_server_config(dump(c), "dump");
  EXPECT_EQ(dump(again), dump(c));
  EXPECT_EQ(again.jobs[0].optimizer.schedule.least, 1e-5);
  EXPECT_EQ(parse_server_config(kFile, "ps.yaml").jobs[0].optimizer.kind, OptimizerKind::none);
  // Parameters and two averages, in two versions and a snapshot.
  EXPECT_EQ(model_bytes(o), 1024u * 3 * 4 * 3);
}

TEST(ServerConfig, MistakesOfAModelHaveTheirPlace) {
  const auto errors = [](const std::string& optimizer) {
    return server_errors(
        "server: {address: 10.0.0.1, megabytes: 8}\njobs:\n  - id: 1\n    workers: 2\n"
        "    root: 10.0.0.2\n    optimizer: {" +
        optimizer + "}\n");
  };
  EXPECT_THAT(errors("rate: 1"),
              ElementsAre(StartsWith("ps.yaml:6:16: jobs[0].optimizer.kind: is missing"),
                          StartsWith("ps.yaml:6:16: jobs[0].optimizer.parameters: is missing")));
  EXPECT_THAT(
      errors("kind: adamw, parameters: [0], rate: fast, momentum: 1"),
      ElementsAre(StartsWith("ps.yaml:6:23: jobs[0].optimizer.kind: 'adamw' is unknown; allowed: "
                             "sgd, adam"),
                  StartsWith("ps.yaml:6:43: jobs[0].optimizer.parameters[0]: '0'"),
                  StartsWith("ps.yaml:6:53: jobs[0].optimizer.rate: 'fast' is not a number"),
                  StartsWith("ps.yaml:6:69: jobs[0].optimizer.momentum: '1' is out of range; "
                             "allowed: 0 to less than 1")));
  EXPECT_THAT(errors("kind: adam, parameters: [8], momentum: 0.5"),
              ElementsAre(StartsWith("ps.yaml:6:56: jobs[0].optimizer.momentum: is sgd's")));
  EXPECT_THAT(errors("kind: sgd, parameters: [8], nesterov: true"),
              ElementsAre(StartsWith("ps.yaml:6:55: jobs[0].optimizer.nesterov: needs momentum")));
  EXPECT_THAT(
      errors("kind: sgd, parameters: [8], schedule: {kind: step}"),
      ElementsAre(StartsWith("ps.yaml:6:62: jobs[0].optimizer.schedule.kind: needs steps")));
  EXPECT_THAT(errors("kind: sgd, parameters: [8], schedule: {steps: 5}"),
              ElementsAre(StartsWith("ps.yaml:6:63: jobs[0].optimizer.schedule.steps: has no "
                                     "meaning with a constant rate")));
  EXPECT_THAT(
      errors("kind: sgd, parameters: [8], checkpoint: {directory: here}"),
      ElementsAre(StartsWith("ps.yaml:6:69: jobs[0].optimizer.checkpoint.directory: 'here' is "
                             "not an absolute path")));
  EXPECT_THAT(errors("kind: sgd, parameters: [1048576]"),
              ElementsAre(testing::HasSubstr("and the models; allowed: at least 9")));
}

// One chunk's contributions and the results that may be asked for again have to fit.
TEST(ServerConfig, MemoryIsSharedOut) {
  ServerConfig c = parse_server_config(kFile, "ps.yaml");
  const JobConfig& job = c.jobs[0].job;
  EXPECT_EQ(least_served_bytes(job), (3u + 16u) * 2u * 512u);
  EXPECT_EQ(most_served_bytes(job), (3u * 8u + 16u) * 2u * 512u);
  EXPECT_EQ(server_share(c, job), most_served_bytes(job));
  ServedJobConfig large = c.jobs[0];
  large.job.id = 8;
  large.job.workers = 1000;
  large.job.window = 64;
  c.jobs.push_back(large);
  std::uint64_t sum = 0;
  for (const auto& served : c.jobs) {
    const std::uint64_t share = server_share(c, served.job);
    EXPECT_GE(share, least_served_bytes(served.job));
    EXPECT_LE(share, most_served_bytes(served.job));
    sum += share;
  }
  EXPECT_LE(sum, std::uint64_t{32} << 20);
  EXPECT_THAT(server_errors("server: {address: 10.0.0.1, megabytes: 1}\njobs:\n"
                            "  - {id: 1, workers: 1000, chunk_bytes: 8192, root: 10.0.0.2}\n"),
              ElementsAre(StartsWith("ps.yaml:1:40: server.megabytes: 1 MiB cannot hold")));
}

}  // namespace
}  // namespace tributary::config
