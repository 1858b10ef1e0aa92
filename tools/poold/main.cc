// tributary-poold: a node of the memory pool as a daemon.
//
//   load config ─▶ take the memory, find its records ─▶ serve reads, listen ─▶ "ready" ─▶ wait for
//   a signal
//
// The memory stays where it is when the process ends: the next one finds its records.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>

#include "control/http/metrics_server.h"
#include "tools/cli/app.h"
#include "tools/daemon/daemon.h"
#include "tools/daemon/log_options.h"
#include "tools/poold/metrics.h"
#include "tools/poold/node_server.h"
#include "tools/poold/probes.h"

namespace tributary::poold {
namespace {

struct Options {
  std::string config_path;
  std::string node;
  bool check = false;
  bool print_config = false;
  int ready_fd = -1;
  tools::LogWords log;
};

using tools::report_end;

std::size_t place_of(const pool::PoolConfig& config, const std::string& name) {
  std::string names;
  for (std::size_t i = 0; i < config.nodes.size(); ++i) {
    if (config.nodes[i].name == name) return i;
    names += (i == 0 ? "" : ", ") + config.nodes[i].name;
  }
  throw std::invalid_argument("--node: no node is called '" + name + "'; allowed: " + names);
}

int serve(const pool::PoolConfig& config, const Options& options) {
  tools::Daemon daemon;
  const NodeServer server(config, place_of(config, options.node), {}, tools::report_warning);
  std::optional<control::MetricsServer> metrics;
  if (const std::string& listen = server.node().metrics_listen; !listen.empty())
    metrics.emplace("metrics_listen", listen, std::make_shared<Metrics>(server),
                    probe_pages(server));
  const NodeStatus status = server.status();
  std::printf("%s of pool %s listens at %s, is read by %s; %s, %llu records\n",
              server.node().name.c_str(), config.name.c_str(), server.node().address.c_str(),
              server.transport(), pool::name_of(status.memory),
              static_cast<unsigned long long>(status.records));
  daemon.announce_ready(options.ready_fd);
  daemon.wait({{}, [&] { return server.turns(); }});
  return 0;
}

int run(const Options& options) {
  try {
    const pool::PoolConfig config = pool::load_pool_config(options.config_path);
    if (options.print_config) std::printf("%s", pool::dump(config).c_str());
    if (options.check) std::printf("%s: good\n", options.config_path.c_str());
    if (options.check || options.print_config) return 0;
    return serve(config, options);
  } catch (const config::ConfigErrors& errors) {
    report_end(errors.what());
  } catch (const std::exception& error) {
    report_end(std::string("tributary-poold: ") + error.what());
  }
  return 1;
}

}  // namespace
}  // namespace tributary::poold

int main(int argc, char** argv) {
  tributary::cli::App app(
      "Tributary memory pool: a node that keeps training data for reads by RDMA",
      "tributary-poold");
  tributary::poold::Options options;
  app.add_option("--config", options.config_path, "the pool's file")->required();
  app.add_option("--node", options.node, "which of its nodes this is");
  app.add_flag("--check", options.check, "check the file, print every mistake, exit");
  app.add_flag("--print-config", options.print_config, "print it with all defaults, exit");
  app.add_ready_fd(options.ready_fd);
  tributary::tools::add_log_options(app, options.log);
  app.set_version_flag("--version", std::string("tributary-poold ") + TRIBUTARY_VERSION);
  if (const auto status = app.run(argc, argv)) return *status;
  tributary::tools::set_log(options.log);
  return tributary::poold::run(options);
}
