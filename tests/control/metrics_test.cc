#include "control/metrics.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "control/show.h"
#include "tests/control/running_switch.h"

namespace tributary::control {
namespace {

using testing::HasSubstr;

std::string http_get(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string out;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
    if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
      std::array<char, 4096> piece;
      ssize_t got = 0;
      while ((got = recv(fd, piece.data(), piece.size(), 0)) > 0)
        out.append(piece.data(), static_cast<std::size_t>(got));
    }
  }
  close(fd);
  return out;
}

TEST(Metrics, ScrapedOverHttp) {
  RunningSwitch sw;
  const MetricsServer server("127.0.0.1:0", sw.get());
  const std::string text = http_get(server.port());
  EXPECT_THAT(text, HasSubstr("HTTP/1.1 200 OK"));
  EXPECT_THAT(text,
              HasSubstr("tributary_build_info{version=\"" TRIBUTARY_VERSION "\",dpdk=\"DPDK"));
  EXPECT_THAT(text, HasSubstr("# TYPE tributary_port_rx_packets_total counter"));
  EXPECT_THAT(text, HasSubstr("tributary_port_rx_packets_total{port=\"right\"} 0"));
  EXPECT_THAT(text, HasSubstr("tributary_drops_total{port=\"left\",reason=\"bad-version\"} 0"));
  EXPECT_THAT(text, HasSubstr("tributary_job_members{job=\"7\",name=\"train\"} 0"));
  EXPECT_THAT(
      text,
      HasSubstr("tributary_job_aborts_total{job=\"7\",name=\"train\",reason=\"deadline\"} 0"));
  EXPECT_THAT(text, HasSubstr("tributary_completion_bytes_held{job=\"7\"} 0"));
  EXPECT_THAT(text,
              HasSubstr("tributary_child_missed_deadlines_total{job=\"7\",child=\"rank-2\"} 0"));
  EXPECT_THAT(text,
              HasSubstr("tributary_child_lateness_seconds_total{job=\"7\",child=\"rank-2\"} 0"));
  EXPECT_THAT(text,
              HasSubstr("tributary_completion_chunks_total{job=\"7\",reason=\"collision\"} 0"));
  EXPECT_THAT(text, HasSubstr("tributary_stage_cycles_total{lcore=\"0\",stage=\"aggregate\"}"));
}

// In seconds, cumulative, with a last bucket for all.
TEST(Metrics, TheTimesOfEachStageAreAHistogram) {
  RunningSwitch sw;
  const auto& commands = sw.get().workers()[0].stages()[0];
  EXPECT_FALSE(Show(sw.get()).table("members").empty());
  while (commands.longest_cycles.get() == 0) std::this_thread::yield();
  std::size_t found = 0;
  for (const auto& family : Metrics(sw.get()).Collect()) {
    if (family.name != "tributary_stage_call_seconds") continue;
    ++found;
    ASSERT_EQ(family.metric.size(), dataplane::kStageCount);
    EXPECT_EQ(family.metric[0].label[1].value, "commands");
    const auto& histogram = family.metric[0].histogram;
    EXPECT_GE(histogram.sample_count, 1u);
    EXPECT_GT(histogram.sample_sum, 0.0);
    EXPECT_LT(histogram.sample_sum, 60.0);
    ASSERT_EQ(histogram.bucket.size(), dataplane::CallCycles::kBuckets);
    EXPECT_LT(histogram.bucket[0].upper_bound, 1e-6);
    EXPECT_DOUBLE_EQ(histogram.bucket[1].upper_bound, 2 * histogram.bucket[0].upper_bound);
    EXPECT_EQ(histogram.bucket.back().upper_bound, std::numeric_limits<double>::infinity());
    EXPECT_EQ(histogram.bucket.back().cumulative_count, histogram.sample_count);
    EXPECT_EQ(family.metric[2].histogram.sample_count, 0u);  // nothing to receive
  }
  EXPECT_EQ(found, 1u);
}

TEST(Metrics, EveryDropReasonOfEveryPortIsThere) {
  RunningSwitch sw;
  for (const auto& family : Metrics(sw.get()).Collect())
    if (family.name == "tributary_drops_total") {
      EXPECT_EQ(family.metric.size(), 2 * kDropReasonCount);
    }
}

TEST(Metrics, AnAddressInUseIsNamed) {
  RunningSwitch sw;
  const MetricsServer server("127.0.0.1:0", sw.get());
  const std::string taken = "127.0.0.1:" + std::to_string(server.port());
  try {
    const MetricsServer second(taken, sw.get());
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr(taken));
  }
}

// docs/operations.md lists exactly what is exported: | `name` | type | ... |
TEST(Metrics, DocumentedAndExportedAgree) {
  RunningSwitch sw;
  std::set<std::string> exported;
  for (const auto& family : Metrics(sw.get()).Collect()) {
    const bool histogram = family.type == prometheus::MetricType::Histogram;
    const bool gauge = family.type == prometheus::MetricType::Gauge;
    exported.insert(family.name + (histogram ? " histogram" : gauge ? " gauge" : " counter"));
  }
  std::set<std::string> documented;
  std::ifstream file(TRIBUTARY_SOURCE_DIR "/docs/operations.md");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("| `tributary_", 0) != 0) continue;
    std::istringstream cells(line);
    std::string bar, name, type;
    cells >> bar >> name >> bar >> type;
    documented.insert(name.substr(1, name.size() - 2) + " " + type);
  }
  EXPECT_EQ(documented, exported);
}

}  // namespace
}  // namespace tributary::control
