// Suite `telemetry`, the part without programs: how many reports the telemetry server takes, from
// memory on one core, and from a socket beside a bare recvmmsg().
//
//   telemetry_bench --send PORT FLOWS   sends one report of each flow there, and ends
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness.h"
#include "bench/telemetry_socket.h"
#include "telemetry/table/record_table.h"
#include "tools/telemetryd/receiver.h"

namespace tributary::bench {
namespace {

using telemetryd::Receiver;
using telemetryd::ReceiverCounters;

constexpr std::uint32_t kFlows = 1000;
constexpr std::uint32_t kManyFlows = 100'000;
constexpr std::uint32_t kRounds = 4;  // of all these flows
constexpr useconds_t kWarmUs = 100'000;

bool is_clean(const telemetry::TableCounters& counters) {
  return counters.malformed == 0 && counters.bad_packets == 0 && counters.refused_links == 0;
}

// Each run takes all reports once.
void run_in_process(const Options& options, std::uint32_t flows, Report& report) {
  RecordedReports reports(std::size_t{kRounds} * kManyFlows, flows, 0);
  telemetry::RecordTable table({}, {});
  std::uint64_t taken = 0;
  const auto run = [&] {
    for (std::size_t i = 0; i < reports.datagrams(); ++i)
      table.take(reports.numbered(i, 1), Instant::from_ns(static_cast<std::int64_t>(++taken)));
    // The harness divides by 1e9; rows are in millions.
    return reports.datagrams() * reports.per_datagram() * 1000;
  };
  const auto is_right = [&] {
    return is_clean(table.counters()) && table.flows().size() == flows &&
           table.counters().reports == taken * reports.per_datagram();
  };
  Row row;
  row.suite = "telemetry";
  row.case_name = "in process, " + std::to_string(flows) + " flows";
  row.metric = "reports, bar 1";
  measure(options, {"record table", nullptr, run, is_right}, nullptr, row);
  row.unit = "M/s";
  report.add(row);
}

struct Rate {
  double of_wall = 0;  // datagrams a second
  double of_cpu = 0;   // and a second of this process
};

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// `count`: datagrams so far.
template <typename Count>
Rate rate_under(ReportFlood& flood, int port, useconds_t window_us, Count count) {
  flood.begin(port);
  usleep(kWarmUs);
  const double wall = seconds_of(CLOCK_MONOTONIC);
  const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  const std::uint64_t before = count();
  usleep(window_us);
  const auto datagrams = static_cast<double>(count() - before);
  const Rate rate{datagrams / (seconds_of(CLOCK_MONOTONIC) - wall),
                  datagrams / (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu)};
  flood.end();
  return rate;
}

telemetryd::ReceiverOptions receiver_options() {
  telemetryd::ReceiverOptions options;
  options.listen = telemetryd::parse_endpoint("--listen", "127.0.0.1:0");
  options.switches[kReporter].address = htonl(INADDR_LOOPBACK);
  return options;
}

Rate receiver_rate(ReportFlood& flood, useconds_t window_us, std::size_t per_datagram,
                   bool& verified) {
  const Receiver receiver(receiver_options());
  const auto count = [&] {
    std::uint64_t datagrams = 0;
    receiver.with_table([&](const auto&, const ReceiverCounters& counters, Instant) {
      datagrams = counters.datagrams;
    });
    return datagrams;
  };
  const Rate rate = rate_under(flood, receiver.port(), window_us, count);
  receiver.with_table([&](const auto& table, const ReceiverCounters& counters, Instant) {
    verified = verified && is_clean(table.counters()) &&
               std::all_of(counters.refused.begin(), counters.refused.end(),
                           [](std::uint64_t refused) { return refused == 0; }) &&
               table.counters().reports == counters.datagrams * per_datagram;
    std::fprintf(stderr, "telemetry: %.2f M datagrams taken, %.2f M dropped by the kernel\n",
                 static_cast<double>(counters.datagrams) * 1e-6,
                 static_cast<double>(counters.overrun) * 1e-6);
  });
  return rate;
}

Rate bare_rate(ReportFlood& flood, useconds_t window_us) {
  const BareSink sink;
  return rate_under(flood, sink.port(), window_us, [&] { return sink.datagrams(); });
}

struct Rounds {
  std::vector<Rate> ours;
  std::vector<Rate> theirs;
  bool verified = true;
};

Rounds alternate(const Options& options, std::size_t per_datagram) {
  const useconds_t window_us = options.quick ? 300'000 : 600'000;
  RecordedReports reports(per_datagram == 1 ? 20'000 : kManyFlows, kFlows, per_datagram);
  const std::size_t per = reports.per_datagram();
  ReportFlood flood(std::move(reports));
  Rounds rounds;
  // Round 0 warms up.
  for (std::size_t round = 0; round <= options.rounds(); ++round) {
    Rate bare;
    if (round % 2 == 0) bare = bare_rate(flood, window_us);
    const Rate ours = receiver_rate(flood, window_us, per, rounds.verified);
    if (round % 2 != 0) bare = bare_rate(flood, window_us);
    if (round == 0) continue;
    rounds.ours.push_back(
        {ours.of_wall * static_cast<double>(per), ours.of_cpu * static_cast<double>(per)});
    rounds.theirs.push_back(
        {bare.of_wall * static_cast<double>(per), bare.of_cpu * static_cast<double>(per)});
  }
  return rounds;
}

void add_row(const std::string& name, const std::string& metric, const Rounds& rounds,
             double Rate::*figure, Report& report) {
  std::vector<double> ours;
  std::vector<double> theirs;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < rounds.ours.size(); ++i) {
    ours.push_back(rounds.ours[i].*figure * 1e-6);
    theirs.push_back(rounds.theirs[i].*figure * 1e-6);
    ratios.push_back(ours.back() / theirs.back());
  }
  Row row;
  row.suite = "telemetry";
  row.case_name = name;
  row.metric = metric;
  row.unit = "M/s";
  row.value = median(ours);
  row.reference = "bare recvmmsg";
  row.reference_value = median(theirs);
  row.ratio = median(ratios);
  row.runs = ours.size();
  row.min = *std::min_element(ours.begin(), ours.end());
  row.max = *std::max_element(ours.begin(), ours.end());
  row.verified = rounds.verified;
  report.add(row);
}

void run_socket(const Options& options, std::size_t per_datagram, Report& report) {
  const Rounds rounds = alternate(options, per_datagram);
  const std::string name = per_datagram == 1 ? "through a socket, a report each datagram"
                                             : "through a socket, full datagrams";
  add_row(name, "reports, bar 0.8", rounds, &Rate::of_wall, report);
  add_row(name, "reports a CPU second", rounds, &Rate::of_cpu, report);
}

int send_flows(int port, std::uint32_t flows) {
  RecordedReports reports(flows, flows, 0);
  const int out = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (std::size_t i = 0; i < reports.datagrams(); ++i) {
    const auto bytes = reports.numbered(i, 1);
    if (sendto(out, bytes.data(), bytes.size(), 0, reinterpret_cast<const sockaddr*>(&to),
               sizeof to) < 0) {
      std::perror("sendto");
      return 1;
    }
  }
  close(out);
  return 0;
}

int run(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--send")
    return send_flows(std::atoi(argv[2]), static_cast<std::uint32_t>(std::atoi(argv[3])));
  const Options options =
      parse_options(argc, argv, "Reports that the telemetry server takes (suite telemetry).");
  Report report(options);
  run_in_process(options, kFlows, report);
  run_in_process(options, kManyFlows, report);
  run_socket(options, 0, report);
  run_socket(options, 1, report);
  return report.exit_code();
}

}  // namespace
}  // namespace tributary::bench

int main(int argc, char** argv) {
  return tributary::bench::run(argc, argv);
}
