// tributary-loadgen: plays the workers of a switch's jobs over DPDK ports, and checks every sum.
//
// SIGINT or SIGTERM ends it gracefully: what is open is finished, the switch is told, the report is
// written. A second one ends the process at once.
#include <rte_errno.h>
#include <rte_mbuf.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "config/load.h"
#include "dataplane/eal.h"
#include "dataplane/fault_guard.h"
#include "tools/loadgen/generator.h"
#include "tools/loadgen/options.h"
#include "tools/loadgen/plan.h"
#include "tools/loadgen/report.h"

namespace tributary::loadgen {
namespace {

constexpr std::uint32_t kPoolCache = 512;
constexpr std::size_t kRuntimeMegabytes = 48;  // DPDK's own, and the rings of ports

volatile std::sig_atomic_t stop_requested = 0;

void request_stop(int signal) {
  stop_requested = 1;
  std::signal(signal, SIG_DFL);
}

std::uint32_t buffer_count(const Plan& plan) {
  return static_cast<std::uint32_t>(plan.ports.size()) * Lane::kBuffers + 2 * kPoolCache;
}

// One lcore on all CPUs that this process may use: taskset(1) says which.
std::vector<std::string> eal_words(const Plan& plan, const Options& options) {
  const auto environment = dataplane::current_environment();
  std::string lcore = "0@(";
  for (const int cpu : environment.cpus) {
    if (lcore.back() != '(') lcore += ',';
    lcore += std::to_string(cpu);
  }
  lcore += ')';
  const std::size_t object = buffer_bytes(plan) + RTE_PKTMBUF_HEADROOM + sizeof(rte_mbuf) + 192;
  const std::size_t megabytes = (buffer_count(plan) * object >> 20) + kRuntimeMegabytes;
  std::vector<std::string> words = {"tributary-loadgen",
                                    "--lcores",
                                    lcore,
                                    "--file-prefix",
                                    environment.file_prefix,
                                    "--log-level",
                                    "*:" + options.dpdk_log_level,
                                    "--no-telemetry",
                                    "-m",
                                    std::to_string(megabytes)};
  if (options.hugepages) {
    words.insert(words.end(), {"--in-memory", "--single-file-segments"});
  } else {
    words.insert(words.end(), {"--no-huge", "--no-shconf"});
  }
  words.insert(words.end(), {"--no-pci", "--iova-mode=va"});
  return words;
}

rte_mempool* create_pool(const Plan& plan) {
  const auto room = static_cast<std::uint16_t>(
      RTE_ALIGN_CEIL(buffer_bytes(plan) + RTE_PKTMBUF_HEADROOM, std::size_t{RTE_CACHE_LINE_SIZE}));
  rte_mempool* pool =
      rte_pktmbuf_pool_create("loadgen", buffer_count(plan), kPoolCache, 0, room, SOCKET_ID_ANY);
  if (pool == nullptr)
    throw std::runtime_error("cannot allocate " + std::to_string(buffer_count(plan)) +
                             " packet buffers of " + std::to_string(room) +
                             " bytes: " + rte_strerror(rte_errno));
  return pool;
}

void write_report(const Report& report, const Options& options) {
  if (options.json == "-") {
    std::printf("%s", to_json(report).c_str());
    return;
  }
  std::printf("%s", to_text(report).c_str());
  if (options.json.empty()) return;
  std::ofstream file(options.json);
  file << to_json(report);
  if (!file.flush()) throw std::runtime_error(options.json + ": cannot be written");
}

int play(const Options& options) {
  const Plan plan =
      make_plan(config::load_switch_config(options.config_path), options.jobs, options.ends);
  if (plan.jobs.empty() && options.l2_rate == 0)
    throw std::invalid_argument(
        "the configuration has no jobs, and --l2 asks for no plain traffic");
  if (options.ops == 0 && options.duration == Duration() && !options.quiet)
    std::fprintf(stderr, "loadgen: until SIGINT\n");
  const dataplane::Eal eal(eal_words(plan, options));
  // A switch that ends takes shared memory away in the middle of a burst.
  dataplane::install_fault_handlers();
  Generator generator(plan, options, create_pool(plan), [] { return stop_requested != 0; });
  const Report report = generator.run();
  write_report(report, options);
  return report.exit_status();
}

}  // namespace
}  // namespace tributary::loadgen

int main(int argc, char** argv) {
  using namespace tributary::loadgen;
  Options options;
  if (const auto status = parse_options(argc, argv, options)) return *status;
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  try {
    return play(options);
  } catch (const tributary::config::ConfigErrors& errors) {
    std::fprintf(stderr, "%s\n", errors.what());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tributary-loadgen: %s\n", error.what());
  }
  return 1;
}
