// tributary-switchd: the switch as a daemon.
//
//   load config ─▶ DPDK ─▶ ports ─▶ packet loop on its lcore ─▶ "ready" ─▶ wait for a signal
//
// The first SIGINT or SIGTERM stops it gracefully: every job is told, ports are closed, exit 0.
// A second one ends the process at once. SIGHUP, or `reload` on the control socket, reads the
// configuration anew; `set` changes single keys of it, which --overrides keeps for the next start;
// `assign` brings a manager's document, which --assigned keeps.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "aggregator/names/name_memory.h"
#include "config/load/load.h"
#include "config/model/devargs.h"
#include "config/plan/aggregation_memory.h"
#include "config/plan/memory_plan.h"
#include "config/text/file.h"
#include "config/topology/assigned.h"
#include "config/topology/document.h"
#include "config/topology/topology.h"
#include "control/capture/capture.h"
#include "control/change/changer.h"
#include "control/change/changes.h"
#include "control/change/drain.h"
#include "control/change/exclude.h"
#include "control/change/place_host.h"
#include "control/change/request.h"
#include "control/change/running_config.h"
#include "control/collisions/collision_watch.h"
#include "control/events/event_log.h"
#include "control/events/event_watch.h"
#include "control/events/tell.h"
#include "control/http/metrics_server.h"
#include "control/metrics/health.h"
#include "control/metrics/metrics.h"
#include "control/open/open_watch.h"
#include "control/show/show.h"
#include "control/socket/socket_server.h"
#include "control/telemetry/report_thread.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/kernel_interface.h"
#include "dataplane/rdma/rdma_memory.h"
#include "dataplane/switch/heartbeat.h"
#include "dataplane/switch/switch.h"
#include "tools/cli/app.h"
#include "tools/daemon/assigned_files.h"
#include "tools/daemon/daemon.h"
#include "tools/daemon/log.h"
#include "tools/daemon/overrides_file.h"
#include "tools/program/cpu_check.h"
#include "tools/program/standard_output.h"

namespace tributary {
namespace {

struct Options {
  std::string config_path;
  std::string node;
  std::string assigned_path;
  std::string overrides_path;
  std::string dpdk_log_level = "error";
  std::string log_level = "info";
  std::string log_format = "text";
  bool check = false;
  bool print_config = false;
  int ready_fd = -1;
};

using tools::report_end;
using tools::report_warning;

std::string memory_text(const config::SwitchConfig& config) {
  return config::describe_memory(config) + config::describe_hosted(config) +
         aggregator::describe_names(config) + dataplane::describe_rdma(config);
}

// Mistakes of the port devargs, which only the data plane can judge.
std::vector<std::string> device_mistakes(const config::SwitchConfig& config) {
  std::vector<std::string> out;
  for (const auto& port : config.ports)
    if (const std::string wrong = dataplane::check_devargs(port); !wrong.empty())
      out.push_back("port " + port.name + " (" + port.devargs + "): " + wrong);
  return out;
}

// A driver that this build does not know may still be one of the machine's DPDK.
void warn_of_drivers(const config::SwitchConfig& config, const Options& options) {
  for (const auto& port : config.ports)
    if (const std::string doubt = config::unknown_driver(config::parse_devargs(port.devargs));
        !doubt.empty())
      report_warning(options.config_path + ": warning: port " + port.name + " (" + port.devargs +
                     "): " + doubt);
}

void warn_of_interfaces(const config::SwitchConfig& config, const Options& options) {
  for (const auto& port : config.ports)
    if (const std::string missing =
            dataplane::missing_interface(config::parse_devargs(port.devargs));
        port.required && !missing.empty())
      report_warning(options.config_path + ": warning: would not start here: port " + port.name +
                     " (" + port.devargs + "): there is no interface '" + missing + "' here");
}

// A file may be checked on another machine than the one it is for, or where fewer CPUs are allowed:
// a warning. The switch itself would refuse to start.
void warn_of_cpus(const config::SwitchConfig& config, const Options& options) {
  for (const std::string& mistake :
       dataplane::cpu_mistakes(config, dataplane::current_environment()))
    report_warning(options.config_path + ": warning: would not start here: " + mistake);
}

// A topology without a node: there is a lot to check, but nothing to serve.
int check_whole_topology(const Options& options) {
  const config::Topology topology = config::load_topology(options.config_path);
  if (options.print_config) std::printf("%s", config::dump(topology).c_str());
  std::vector<std::string> mistakes;
  for (const auto& sw : topology.switches)
    for (const std::string& mistake : device_mistakes(sw.config))
      mistakes.push_back(sw.config.name + ": " + mistake);
  for (const auto& mistake : mistakes) report_end(options.config_path + ": " + mistake);
  if (!mistakes.empty()) return 1;
  for (const auto& sw : topology.switches) warn_of_drivers(sw.config, options);
  if (options.check) {
    for (const auto& sw : topology.switches)
      std::printf("%s",
                  config::describe_tree(config::node_config(topology, sw.config.name)).c_str());
    std::printf("%s: good\n", options.config_path.c_str());
  }
  if (options.check || options.print_config) return 0;
  report_end(options.config_path + ": a topology of " + std::to_string(topology.switches.size()) +
             " switches; say which one to run with --node");
  return 1;
}

void print_ports(const dataplane::Switch& sw) {
  sw.for_each_port([](std::size_t place, const dataplane::Port& port) {
    std::printf("port %zu %s: %s, mtu %u, link %s\n", place, port.name().c_str(),
                port.config().devargs.c_str(), port.config().mtu, port.link().up() ? "up" : "down");
  });
}

// The span that `show events` asks for: "" for all, or seconds; nullopt: another table.
std::optional<std::string> events_asked(const std::string& what) {
  if (what == "events") return "";
  if (what.rfind("events ", 0) == 0) return what.substr(7);
  return std::nullopt;
}

control::ShowAnswer answer_show(const std::string& what, control::Show& show,
                                control::RunningConfig& running,
                                const control::CollisionWatch& collisions,
                                const control::EventLog& log) {
  if (what == "overrides") return running.overrides();
  if (what == "assigned") return running.assigned();
  if (what == "collisions") return collisions.rows();
  if (const auto which = events_asked(what))
    return control::show_events(log, *which, std::chrono::system_clock::now());
  return show.answer(what);
}

std::vector<std::uint32_t> drain(dataplane::Switch& sw, const control::DrainRequest& request,
                                 const control::Tell& tell) {
  std::vector<std::uint32_t> jobs = control::drain_jobs(sw, request);
  if (!jobs.empty())
    tell(control::list_of_jobs(jobs) +
         (request.undo ? ": held no more" : ": drained and held, until `tributary drain --undo`"));
  return jobs;
}

struct Start {
  config::SwitchConfig config;  // by all documents
  config::Document document;
  tools::AssignedFiles::Kept kept;  // of what a manager assigned before the switch stopped
  config::Overrides overrides;
};

// Throws where a port of the configuration, unlike those of the switch's own file, keeps the switch
// from starting.
void check_other_ports(const config::SwitchConfig& own, const config::SwitchConfig& config) {
  for (const auto& port : config.ports) {
    const auto same = [&](const config::PortConfig& other) {
      return other.devargs == port.devargs && other.required == port.required;
    };
    if (std::any_of(own.ports.begin(), own.ports.end(), same)) continue;
    std::string wrong = dataplane::check_devargs(port);
    const auto missing = dataplane::missing_interface(config::parse_devargs(port.devargs));
    if (port.required && !missing.empty()) wrong = "there is no interface '" + missing + "' here";
    if (!wrong.empty())
      throw std::invalid_argument("port " + port.name + " (" + port.devargs + "): " + wrong);
  }
}

// Puts what was set before the switch stopped over its file.
void load_overrides(const Options& options, Start& start) {
  const bool only_looks = options.check || options.print_config;
  auto kept = tools::OverridesFile(options.overrides_path).load(!only_looks);
  if (!kept.damage.empty()) report_warning(kept.damage);
  const auto whole = [&](const config::Document& document) {
    return start.kept.document ? config::merged(document, *start.kept.document)
                               : config::switch_config(document);
  };
  config::settle(
      start.document, start.kept.document.has_value(),
      [&](const config::Document& document) { check_other_ports(start.config, whole(document)); },
      kept.overrides);
  for (const config::Override& one : kept.overrides)
    if (!one.aside.empty())
      report_warning(options.overrides_path + ": set aside: " + one.path + " (" +
                     config::text_of(one) + "): " + one.aside);
  start.config = whole(config::overridden(start.document, kept.overrides));
  start.overrides = std::move(kept.overrides);
}

Start load(const Options& options, const std::string& text) {
  Start start;
  start.document = config::parse_document(text, options.config_path, options.node);
  start.config = config::switch_config(start.document);
  if (!options.assigned_path.empty()) {
    if (start.config.open_jobs.enabled())
      throw std::invalid_argument(
          "switch.open_jobs.ids: ranks open jobs, and with --assigned a manager says which jobs "
          "there are; allowed: one of both");
    const bool only_looks = options.check || options.print_config;
    start.kept = tools::AssignedFiles(options.assigned_path).load(!only_looks);
    for (const std::string& line : start.kept.damage) report_warning(line);
    if (start.kept.document) start.config = config::merged(start.document, *start.kept.document);
  }
  if (!options.overrides_path.empty()) load_overrides(options, start);
  return start;
}

// The actions of the running configuration: read the file, compare, apply, keep. Each goes straight
// to what carries it out; nothing of this file is called again.
control::RunningConfig::Shell shell(const Options& options, dataplane::Switch& sw,
                                    control::Changer& changer) {
  const tools::AssignedFiles files(options.assigned_path);
  control::RunningConfig::Shell shell{
      .read = std::bind_front(&config::read_file, options.config_path),
      .compare = std::bind_front(&dataplane::Switch::compare, &sw),
      .apply = std::bind_front(&control::Changer::apply, &changer),
      .keep = std::bind_front(&tools::AssignedFiles::keep, files),
      .keep_term = std::bind_front(&tools::AssignedFiles::keep_term, files)};
  if (!options.overrides_path.empty())
    shell.keep_overrides =
        std::bind_front(&tools::OverridesFile::keep, tools::OverridesFile(options.overrides_path));
  return shell;
}

int serve(Start start, const Options& options) {
  const config::SwitchConfig& config = start.config;
  tools::Daemon daemon;
  auto environment = dataplane::current_environment();
  environment.log_level = options.dpdk_log_level;
  const dataplane::Eal eal(dataplane::eal_arguments(config, environment));
  control::EventLog log(tools::write_log);
  const control::Tell tell(log);
  dataplane::Switch sw(config, tell);
  control::Show show(sw);
  std::optional<control::MetricsServer> metrics;
  if (!config.metrics_listen.empty())
    metrics.emplace("metrics.listen", config.metrics_listen, std::make_shared<control::Metrics>(sw),
                    control::probe_pages(sw));
  std::optional<control::Changer> changer(std::in_place, sw, tell);
  std::optional<control::EventWatch> events(std::in_place, control::SwitchLook(sw), log);
  control::RunningConfig running(std::move(start.document), shell(options, sw, *changer),
                                 std::move(start.kept.document), start.kept.latest,
                                 std::move(start.overrides));
  control::Changes changes(running, tell, options.config_path, !options.assigned_path.empty());
  std::optional<control::CollisionWatch> collisions(
      std::in_place, sw, tell,
      [&](const control::CollisionRemedy& remedy) { changes.remedy(remedy); });
  std::optional<control::OpenWatch> open_jobs(
      std::in_place, sw, tell,
      [&](const control::RunningConfig::OpenEdit& edit) { running.open(edit); });
  std::optional<control::ReportThread> reports;
  if (config.telemetry.enabled()) reports.emplace(sw);
  std::optional<control::CaptureServer> captures(std::in_place, sw, tell);
  const control::Commands commands{
      .show =
          [&](const std::string& what) {
            return answer_show(what, show, running, *collisions, log);
          },
      .exclude = [&](const auto& wish) { return control::exclude_rank(sw, wish, tell); },
      .reload = std::bind_front(&control::Changes::reload, &changes),
      .place_host = std::bind_front(&control::place_hosts, std::ref(sw)),
      .set = std::bind_front(&control::Changes::set, &changes),
      .assign = std::bind_front(&control::Changes::assign, &changes),
      .drain = [&](const auto& wish) { return drain(sw, wish, tell); }};
  std::optional<control::SocketServer> socket;
  if (!config.control_socket.empty())
    socket.emplace(
        config.control_socket,
        [&commands](std::string_view line) { return control::answer_request(line, commands); },
        control::SocketServer::Options{
            .takeover = std::bind_front(&control::CaptureServer::take, &*captures),
            .takes_long = control::takes_long});
  std::printf("%s", memory_text(config).c_str());
  {
    const auto held = sw.hold();
    std::printf("%s", sw.pools().describe().c_str());
    print_ports(sw);
  }
  daemon.announce_ready(options.ready_fd);
  dataplane::Heartbeat heartbeat(sw.packet_loops());
  daemon.wait({[&] { changes.reload_on_signal(); }, [&heartbeat] { return heartbeat.beat(); }});
  socket.reset();  // no client may ask a loop that no longer answers
  captures.reset();
  open_jobs.reset();   // which changes jobs
  collisions.reset();  // which does, too
  changer.reset();
  sw.end_epochs();
  events.reset();  // its last look has why the jobs ended
  sw.stop();
  return 0;
}

int run(const Options& options) {
  Start start;
  try {
    const std::string text = config::read_file(options.config_path);
    if (options.node.empty() && config::is_topology(text)) return check_whole_topology(options);
    start = load(options, text);
  } catch (const config::ConfigErrors& errors) {
    report_end(errors.what());
    return 1;
  } catch (const std::invalid_argument& error) {
    report_end(options.config_path + ": " + error.what());
    return 1;
  }
  const config::SwitchConfig& config = start.config;
  const auto mistakes = device_mistakes(config);
  for (const auto& mistake : mistakes) report_end(options.config_path + ": " + mistake);
  if (!mistakes.empty()) return 1;
  warn_of_drivers(config, options);
  if (options.print_config) std::printf("%s", config::dump(config).c_str());
  if (options.check && !options.node.empty())
    std::printf("%s", config::describe_tree(config).c_str());
  if (options.check) {
    warn_of_cpus(config, options);
    warn_of_interfaces(config, options);
    std::printf("%s%s: good\n", memory_text(config).c_str(), options.config_path.c_str());
  }
  if (options.check || options.print_config) return 0;
  try {
    return serve(std::move(start), options);
  } catch (const std::exception& error) {
    report_end(std::string("tributary-switchd: ") + error.what());
    return 1;
  }
}

}  // namespace
}  // namespace tributary

// Before DPDK's constructors, which use what an old CPU lacks.
[[gnu::section(".preinit_array"), gnu::used]] const auto kFirst = &tributary::tools::end_on_old_cpu;

int main(int argc, char** argv) {
  tributary::cli::App app("Tributary switch: sums tensors in the network, forwards everything else",
                          "tributary-switchd");
  tributary::Options options;
  app.add_option("--config", options.config_path, "configuration file")->required();
  app.add_option("--node", options.node, "which switch of the file, if that is a topology");
  app.add_option("--assigned", options.assigned_path,
                 "file that keeps what a manager assigns, for the next start");
  app.add_option("--overrides", options.overrides_path,
                 "file that keeps what `tributary set` changes, for the next start");
  app.add_flag("--check", options.check, "check the configuration, print every mistake, exit");
  app.add_flag("--print-config", options.print_config, "print it with all defaults, exit");
  app.add_ready_fd(options.ready_fd);
  app.add_option("--dpdk-log-level", options.dpdk_log_level,
                 "log level of DPDK's libraries and drivers")
      ->check(tributary::cli::is_member(
          {"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"}));
  app.add_option("--log-level", options.log_level, "leave out lines that are less important")
      ->check(tributary::cli::is_member({"error", "warning", "notice", "info"}));
  app.add_option("--log-format", options.log_format, "format of the log on standard error")
      ->check(tributary::cli::is_member({"text", "json"}));
  app.set_version_flag("--version", std::string("tributary-switchd ") + TRIBUTARY_VERSION + ", " +
                                        tributary::dataplane::dpdk_version());
  if (const auto status = app.run(argc, argv)) return *status;
  namespace tools = tributary::tools;
  tools::set_log({*tributary::parse_log_level(options.log_level),
                  options.log_format == "json" ? tools::LogFormat::json : tools::LogFormat::text});
  const int status = tributary::run(options);
  // Output of a daemon at its start may be lost; the output of --check and --print-config may not.
  if (!options.check && !options.print_config) return status;
  return tributary::tools::finish_output("tributary-switchd", status);
}
