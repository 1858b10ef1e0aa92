// tributary-loadgen: plays the workers of a switch's jobs over DPDK ports, and checks every sum.
//
// SIGINT or SIGTERM ends it gracefully: open ops are finished, the switch is told, the report is
// written. A second one ends the process at once.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

#include "config/load/load.h"
#include "tools/loadgen/environment.h"
#include "tools/loadgen/generator.h"
#include "tools/loadgen/options.h"
#include "tools/loadgen/plan.h"
#include "tools/loadgen/port_lane.h"
#include "tools/loadgen/report.h"
#include "tools/program/cpu_check.h"
#include "tools/program/output_file.h"
#include "tools/program/standard_output.h"

namespace tributary::loadgen {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

void request_stop(int signal) {
  stop_requested = 1;
  std::signal(signal, SIG_DFL);
}

void write_report(const Report& report, const Options& options) {
  if (options.json == "-") {
    std::printf("%s", to_json(report).c_str());
    return;
  }
  std::printf("%s", to_text(report).c_str());
  if (options.json.empty()) return;
  tools::write_file(options.json, to_json(report));
}

void check_plain(const Plan& plan, const Options& options) {
  if (options.l2_rate == 0) return;
  const std::vector<std::size_t> places = places_of(plan, options.l2_ports);
  if (places.size() < 2 || options.l2_stations < places.size())
    throw std::invalid_argument(
        "--l2 needs two ports at least, and --l2-macs a station behind each");
  for (const std::size_t place : places)
    if (const config::PortConfig& port = plan.config.ports[place];
        options.l2_bytes > port.mtu + wire::kEthernetBytes)
      throw std::invalid_argument("--l2-bytes " + std::to_string(options.l2_bytes) + ": port " +
                                  port.name + " takes frames of " +
                                  std::to_string(port.mtu + wire::kEthernetBytes) + " at most");
}

int play(const Options& options) {
  const Plan plan =
      make_plan(config::load_switch_config(options.config_path), options.jobs, options.ends);
  if (plan.jobs.empty() && options.l2_rate == 0)
    throw std::invalid_argument(
        "the configuration has no jobs, and --l2 asks for no plain traffic");
  check_plain(plan, options);
  if (options.ops == 0 && options.duration == Duration() && !options.quiet)
    std::fprintf(stderr, "loadgen: until SIGINT\n");
  const auto devices = std::count_if(plan.ports.begin(), plan.ports.end(),
                                     [](const PlannedPort& port) { return !port.memif; });
  rte_mempool* const pool =
      start({"tributary-loadgen", static_cast<std::uint32_t>(devices) * PortLane::kBuffers,
             buffer_bytes(plan), options.hugepages, options.dpdk_log_level});
  Generator generator(plan, options, pool, [] { return stop_requested != 0; });
  const Report report = generator.run();
  write_report(report, options);
  return report.exit_status();
}

}  // namespace
}  // namespace tributary::loadgen

// Before DPDK's constructors, which use what an old CPU lacks.
[[gnu::section(".preinit_array"), gnu::used]] const auto kFirst = &tributary::tools::end_on_old_cpu;

int main(int argc, char** argv) {
  using namespace tributary::loadgen;
  Options options;
  if (const auto status = parse_options(argc, argv, options)) return *status;
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  try {
    return tributary::tools::finish_output("tributary-loadgen", play(options));
  } catch (const tributary::config::ConfigErrors& errors) {
    std::fprintf(stderr, "%s\n", errors.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tributary-loadgen: %s\n", error.what());
  }
  return 1;
}
