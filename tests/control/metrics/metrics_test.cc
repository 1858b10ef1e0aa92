#include "control/metrics/metrics.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "control/http/metrics_server.h"
#include "control/metrics/health.h"
#include "control/show/show.h"
#include "tests/control/running_switch.h"
#include "tests/source_dir.h"

namespace tributary::control {
namespace {

using testing::HasSubstr;

// A server that says nothing for so long has failed.
int connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience{20, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  return fd;
}

MetricsServer serve(const std::string& listen, dataplane::Switch& sw) {
  return {"metrics.listen", listen, std::make_shared<Metrics>(sw), probe_pages(sw)};
}

std::string http_get(int port, const std::string& path = "/metrics") {
  const int fd = connect_to(port);
  const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
  std::string out;
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 4096> piece;
    ssize_t got = 0;
    while ((got = recv(fd, piece.data(), piece.size(), 0)) > 0)
      out.append(piece.data(), static_cast<std::size_t>(got));
  }
  close(fd);
  return out;
}

TEST(MetricsTimed, ScrapedOverHttp) {
  RunningSwitch sw;
  const MetricsServer server = serve("127.0.0.1:0", sw.get());
  const std::string text = http_get(server.port());
  EXPECT_THAT(text, HasSubstr("HTTP/1.1 200 OK"));
  EXPECT_THAT(text,
              HasSubstr("tributary_build_info{version=\"" TRIBUTARY_VERSION "\",dpdk=\"DPDK"));
  EXPECT_THAT(text, HasSubstr("# TYPE tributary_port_rx_packets_total counter"));
  EXPECT_THAT(text, HasSubstr("tributary_port_rx_packets_total{port=\"right\"} 0"));
  EXPECT_THAT(text, HasSubstr("tributary_port_rx_missed_total{port=\"right\"} 0"));
  EXPECT_THAT(text, HasSubstr("tributary_drops_total{port=\"left\",reason=\"bad-version\"} 0"));
  EXPECT_THAT(text, HasSubstr("tributary_job_members{job_id=\"7\",job_name=\"train\"} 0"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "tributary_job_aborts_total{job_id=\"7\",job_name=\"train\",reason=\"deadline\"} 0"));
  EXPECT_THAT(text, HasSubstr("tributary_completion_bytes_held{job_id=\"7\"} 0"));
  EXPECT_THAT(text,
              HasSubstr("tributary_child_missed_deadlines_total{job_id=\"7\",child=\"rank-2\"} 0"));
  EXPECT_THAT(text,
              HasSubstr("tributary_child_lateness_seconds_total{job_id=\"7\",child=\"rank-2\"} 0"));
  EXPECT_THAT(text,
              HasSubstr("tributary_completion_chunks_total{job_id=\"7\",reason=\"collision\"} 0"));
  EXPECT_THAT(text, HasSubstr("tributary_stage_cycles_total{lcore=\"0\",stage=\"aggregate\"}"));
}

// In seconds, cumulative, with a last bucket for all.
TEST(MetricsTimed, TheTimesOfEachStageAreAHistogram) {
  RunningSwitch sw;
  const auto& commands = sw.get().packet_loops()[0].stages()[0];
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

using aggregator::ShardCounters;

// The rows of a shard that show a counter, listed once more.
const std::map<std::string, Counter ShardCounters::*>& shard_rows() {
  using C = ShardCounters;
  static const std::map<std::string, Counter C::*> rows{
      {"contributions_total", &C::contributions},
      {"completions_total", &C::completions},
      {"duplicates_total", &C::duplicates},
      {"stale_total", &C::stale},
      {"collisions_total", &C::collisions},
      {"preemptions_total", &C::preemptions},
      {"forwarded_total", &C::forwarded},
      {"sent_up_total", &C::sent_up},
      {"resent_up_total", &C::resent_up},
      {"probes_up_total", &C::probes_up},
      {"recalls_total", &C::recalls},
      {"host_results_total", &C::host_results},
      {"degraded_results_total", &C::degraded},
      {"late_total", &C::late},
      {"overflows_total", &C::saturated},
      {"marked_data_total", &C::marked_data},
      {"slot_marks_total", &C::slot_marks},
      {"marked_results_total", &C::marked_results},
      {"cache_hits_total", &C::cache_hits},
      {"cache_misses_total", &C::cache_misses},
      {"cache_evictions_total", &C::cache_evictions},
      {"bytes_in_total", &C::bytes_in},
      {"bytes_out_total", &C::bytes_out},
      {"slots_open", &C::slots_open},
      {"slots_high_water", &C::slots_high_water},
  };
  return rows;
}

void expect_two_holds(const prometheus::ClientMetric::Histogram& holds) {
  EXPECT_EQ(holds.sample_count, 2u);
  EXPECT_DOUBLE_EQ(holds.sample_sum, 0.005003);
  EXPECT_EQ(holds.bucket[1].cumulative_count, 0u) << "nothing below 2 us";
  EXPECT_EQ(holds.bucket[2].cumulative_count, 1u) << "one below 4 us";
}

// What a row shows is what its name says: all figures differ.
TEST(MetricsTimed, T22_EveryFigureOfAShardStandsInItsOwnRow) {
  const auto& rows = shard_rows();
  RunningSwitch sw;
  // The loop is their only writer, and has nothing to write: no packet comes.
  auto& counters = const_cast<ShardCounters&>(*sw.get().jobs()[0].engine().shard_counters(0, 0));
  std::uint64_t value = 1000;
  for (const auto& [name, counter] : rows) (counters.*counter).set(++value);
  for (auto& reason : counters.escalations) reason.set(++value);
  counters.slot_hold.add(Duration::us(3));
  counters.slot_hold.add(Duration::ms(5));

  std::size_t found = 0;
  std::size_t reasons = 0;
  for (const auto& family : Metrics(sw.get()).Collect()) {
    if (!family.name.starts_with("tributary_shard_") &&
        family.name != "tributary_slot_hold_seconds")
      continue;
    const auto& first = family.metric.at(0);
    const auto row = rows.find(family.name.substr(sizeof "tributary_shard_" - 1));
    if (family.name.ends_with("slot_hold_seconds")) {
      expect_two_holds(first.histogram);
      ++found;
    } else if (family.name == "tributary_shard_escalations_total") {
      for (const auto& metric : family.metric) {
        if (metric.label.at(2).value != "0") continue;  // of the first shard
        for (std::size_t r = 1; r < counters.escalations.size(); ++r)
          if (metric.label.at(3).value == wire::name_of(static_cast<wire::Reason>(r))) {
            EXPECT_EQ(metric.counter.value, static_cast<double>(counters.escalations[r].get()));
            ++reasons;
          }
      }
    } else {
      ASSERT_NE(row, rows.end()) << family.name << " is not in this test";
      const bool gauge = family.type == prometheus::MetricType::Gauge;
      EXPECT_EQ(gauge ? first.gauge.value : first.counter.value,
                static_cast<double>((counters.*row->second).get()))
          << family.name;
      ++found;
    }
  }
  EXPECT_EQ(found, rows.size() + 2);
  EXPECT_EQ(reasons, counters.escalations.size() - 1);
}

TEST(MetricsTimed, EveryDropReasonOfEveryPortIsThere) {
  RunningSwitch sw;
  for (const auto& family : Metrics(sw.get()).Collect())
    if (family.name == "tributary_drops_total") {
      EXPECT_EQ(family.metric.size(), 2 * kDropReasonCount);
    }
}

TEST(MetricsTimed, ProbesSeeWhetherTheSwitchLivesAndServes) {
  RunningSwitch sw;
  const MetricsServer server = serve("127.0.0.1:0", sw.get());
  for (const char* const path : {"/healthz", "/readyz"}) {
    const std::string answer = http_get(server.port(), path);
    EXPECT_THAT(answer, HasSubstr("HTTP/1.1 200 OK")) << path;
    EXPECT_THAT(answer, testing::EndsWith("\r\n\r\nok\n")) << path;
  }
}

TEST(MetricsTimed, AnAddressInUseIsNamed) {
  RunningSwitch sw;
  const MetricsServer server = serve("127.0.0.1:0", sw.get());
  const std::string taken = "127.0.0.1:" + std::to_string(server.port());
  try {
    const MetricsServer second = serve(taken, sw.get());
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("metrics.listen: " + taken + ": cannot bind: Address al"));
  }
}

// docs/operating/metrics.md lists exactly what is exported: | `name` | type | ... |
TEST(MetricsTimed, DocumentedAndExportedAgree) {
  RunningSwitch sw;
  std::set<std::string> exported;
  for (const auto& family : Metrics(sw.get()).Collect()) {
    const bool histogram = family.type == prometheus::MetricType::Histogram;
    const bool gauge = family.type == prometheus::MetricType::Gauge;
    exported.insert(family.name + (histogram ? " histogram" : gauge ? " gauge" : " counter"));
  }
  std::set<std::string> documented;
  std::ifstream file(tests::source_dir() + "/docs/operating/metrics.md");
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
