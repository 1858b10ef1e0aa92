// tributary-psd: the parameter server as a daemon.
//
//   load config ─▶ UDP socket, or DPDK port ─▶ packet loop on its thread ─▶ "ready" ─▶ wait for a
//   signal
//
// The first SIGINT or SIGTERM stops it gracefully: every root is told to look for another host. A
// second one ends the process at once.
#include <sys/random.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>

#include "config/plan/memory_plan.h"
#include "config/server/server_config.h"
#include "config/text/codec.h"
#include "control/change/request.h"
#include "control/http/metrics_server.h"
#include "control/socket/socket_server.h"
#include "tools/cli/app.h"
#include "tools/daemon/daemon.h"
#include "tools/daemon/log_options.h"
#include "tools/program/cpu_check.h"
#include "tools/program/standard_output.h"
#include "tools/psd/checkpoint_lock.h"
#include "tools/psd/make_udp_port.h"
#include "tools/psd/probes.h"
#include "tools/psd/show.h"
#include "worker/host/host_loop.h"

namespace tributary::psd {
namespace {

struct Options {
  std::string config_path;
  std::string node;
  bool check = false;
  bool print_config = false;
  int ready_fd = -1;
  tools::LogWords log;
};

using tools::report;
using tools::report_end;
using tools::report_warning;

std::uint64_t draw_nonce() {
  std::uint64_t nonce = 0;
  if (getrandom(&nonce, sizeof nonce, 0) != static_cast<ssize_t>(sizeof nonce))
    throw std::runtime_error("no random numbers from the kernel");
  return nonce;
}

std::string memory_text(const config::ServerConfig& config) {
  const auto kib = [](std::uint64_t bytes) { return std::to_string((bytes + 1023) >> 10); };
  std::string text;
  for (const auto& served : config.jobs) {
    const config::JobConfig& job = served.job;
    text += config::describe_served(job, config::server_share(config, job));
    const config::OptimizerConfig& optimizer = served.optimizer;
    if (optimizer.kind == config::OptimizerKind::none) continue;
    text += "job " + job.name + ": " + kib(config::model_bytes(optimizer)) +
            " KiB for a model of " + std::to_string(config::elements_of(optimizer)) +
            " parameters" +
            (optimizer.checkpoint.directory.empty() ? ", lost when the server ends"
                                                    : ", and its snapshot") +
            "\n";
  }
  return text;
}

// A file may be checked on another machine than the one it is for: a warning. The server itself
// would refuse to start.
void warn_of_directories(const config::ServerConfig& config, const Options& options) {
  for (const auto& served : config.jobs) {
    const std::string& directory = served.optimizer.checkpoint.directory;
    if (directory.empty()) continue;
    if (const std::string why = why_unusable(directory); !why.empty())
      report_warning(options.config_path + ": warning: would not start here: " + why);
  }
}

int serve(const config::ServerConfig& config, const Options& options) {
  tools::Daemon daemon;
  const dataplane::UdpPort* port = nullptr;
  std::unique_ptr<DatagramLink> link;
  if (config.dpdk.devargs.empty()) {
    link = worker::make_udp_socket(config);
  } else {
    auto made = make_udp_port(config);
    port = made.get();
    link = std::move(made);
  }
  ServerLoop loop(config, draw_nonce(), std::move(link), report);
  Show show(loop, config, port);
  std::optional<control::MetricsServer> metrics;
  if (!config.metrics_listen.empty())
    metrics.emplace("metrics.listen", config.metrics_listen, std::make_shared<Metrics>(loop, port),
                    probe_pages(loop, port));
  std::thread thread([&loop] { loop.run(); });
  std::optional<control::SocketServer> socket;
  const auto stop = [&] {
    metrics.reset();  // no client may ask a loop that no longer answers
    socket.reset();
    loop.stop();
    thread.join();
  };
  try {
    if (!config.control_socket.empty())
      socket.emplace(config.control_socket, [&show](std::string_view line) {
        return control::answer_request(
            line, {.show = [&](const std::string& what) { return show.table(what); }});
      });
  } catch (...) {
    stop();
    throw;
  }
  std::printf("%s%s listens at %s:%u%s%s\n", memory_text(config).c_str(), config.name.c_str(),
              config::format_ipv4(config.ipv4).c_str(), config.udp_port,
              port != nullptr ? " on " : "", config.dpdk.devargs.c_str());
  daemon.announce_ready(options.ready_fd);
  daemon.wait({{}, [&loop] { return loop.counters().turns.get(); }});
  stop();
  if (loop.checkpoints().all_kept()) return 0;
  report_end("tributary-psd: the last steps are lost: their checkpoint could not be written");
  return 1;
}

int run(const Options& options) {
  config::ServerConfig config;
  try {
    config = worker::load_host_config(options.config_path, options.node);
  } catch (const config::ConfigErrors& errors) {
    report_end(errors.what());
    return 1;
  } catch (const std::invalid_argument& error) {
    report_end(options.config_path + ": " + error.what());
    return 1;
  }
  if (options.print_config) std::printf("%s", config::dump(config).c_str());
  if (options.check) warn_of_directories(config, options);
  if (options.check)
    std::printf("%s%s: good\n", memory_text(config).c_str(), options.config_path.c_str());
  if (options.check || options.print_config) return 0;
  try {
    return serve(config, options);
  } catch (const std::exception& error) {
    report_end(std::string("tributary-psd: ") + error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tributary::psd

// Before DPDK's constructors, which use what an old CPU lacks.
[[gnu::section(".preinit_array"), gnu::used]] const auto kFirst = &tributary::tools::end_on_old_cpu;

int main(int argc, char** argv) {
  tributary::cli::App app("Tributary parameter server: finishes sums that switches could not",
                          "tributary-psd");
  tributary::psd::Options options;
  app.add_option("--config", options.config_path, "configuration file")->required();
  app.add_option("--node", options.node, "which server of the file, if that is a topology");
  app.add_flag("--check", options.check, "check the configuration, print every mistake, exit");
  app.add_flag("--print-config", options.print_config, "print it with all defaults, exit");
  app.add_ready_fd(options.ready_fd);
  tributary::tools::add_log_options(app, options.log);
  app.set_version_flag("--version", std::string("tributary-psd ") + TRIBUTARY_VERSION);
  if (const auto status = app.run(argc, argv)) return *status;
  tributary::tools::set_log(options.log);
  const int status = tributary::psd::run(options);
  // Output of a daemon at its start may be lost; the output of --check and --print-config may not.
  if (!options.check && !options.print_config) return status;
  return tributary::tools::finish_output("tributary-psd", status);
}
