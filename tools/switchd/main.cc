// tributary-switchd: the switch as a daemon.
//
//   load config ─▶ DPDK ─▶ ports ─▶ packet loop on its lcore ─▶ "ready" ─▶ wait for a signal
//
// The first SIGINT or SIGTERM stops it gracefully: every job is told, ports are closed, exit 0.
// A second one ends the process at once. SIGHUP, or `reload` on the control socket, reads the
// configuration anew; `set` changes single keys of it; `assign` brings a manager's document, which
// --assigned keeps for the next start.
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
#include "control/change/drain.h"
#include "control/change/exclude.h"
#include "control/change/place_host.h"
#include "control/change/request.h"
#include "control/change/running_config.h"
#include "control/collisions/collision_watch.h"
#include "control/events/event_log.h"
#include "control/events/event_watch.h"
#include "control/metrics/metrics.h"
#include "control/show/show.h"
#include "control/socket/socket_server.h"
#include "control/stragglers/straggler_watch.h"
#include "control/telemetry/report_thread.h"
#include "dataplane/port/eal.h"
#include "dataplane/port/kernel_interface.h"
#include "dataplane/rdma/rdma_memory.h"
#include "dataplane/switch/switch.h"
#include "tools/cli/app.h"
#include "tools/daemon/assigned_files.h"
#include "tools/daemon/daemon.h"
#include "tools/daemon/log.h"
#include "tools/program/cpu_check.h"
#include "tools/program/standard_output.h"

namespace tributary {
namespace {

struct Options {
  std::string config_path;
  std::string node;
  std::string assigned_path;
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
                port.config().devargs.c_str(), port.config().mtu, port.link_up() ? "up" : "down");
  });
}

// Puts another configuration in the place of the one that runs. The straggler watch is of one set
// of jobs: each has its own.
class Changer {
 public:
  using Report = std::function<void(const std::string&)>;
  Changer(dataplane::Switch& sw, Report report)
      : switch_(sw), report_(std::move(report)), watch_(std::in_place, sw, report_) {}

  // One thread at a time. Throws as Switch::apply().
  config::Change apply(const config::SwitchConfig& next) {
    if (switch_.config().jobs == next.jobs) return switch_.apply(next);
    watch_.reset();
    config::Change change;
    try {
      change = switch_.apply(next);
    } catch (...) {
      watch_.emplace(switch_, report_);
      throw;
    }
    watch_.emplace(switch_, report_);
    return change;
  }

 private:
  dataplane::Switch& switch_;
  const Report report_;
  std::optional<control::StragglerWatch> watch_;
};

// Where events go besides the ring that `show events` reads.
void write_event(const control::Event& event) {
  const std::string job = event.job ? "job " + std::to_string(*event.job) + ": " : "";
  tools::write_log(event.level, job + event.text);
}

// Puts lines about the switch as a whole into the event log.
class Tell {
 public:
  explicit Tell(control::EventLog& log) : log_(log) {}
  void operator()(const std::string& line) const { add(LogLevel::notice, line); }
  void warn(const std::string& line) const { add(LogLevel::warning, line); }

 private:
  void add(LogLevel level, const std::string& line) const {
    log_.add({std::chrono::system_clock::now(), level, "switch", {}, line});
  }
  control::EventLog& log_;
};

std::string reloaded(const std::string& path, const std::string& text, const Tell& tell) {
  tell("reloaded " + path + ": " + text);
  return text;
}

std::string reload(control::RunningConfig& running, const std::string& path, const Tell& tell) try {
  return reloaded(path, running.reload(), tell);
} catch (const control::TakenButNotWhole& change) {
  tell.warn("reloaded " + path + ": " + change.what());
  throw;
} catch (const std::exception& error) {
  tell.warn(std::string("not reloaded: ") + error.what());
  throw;
}

// No client waits for an answer, so errors go to the log.
void reload_on_signal(control::RunningConfig& running, const std::string& path, const Tell& tell) {
  try {
    reloaded(path, running.reload_patiently(), tell);
  } catch (const control::TakenButNotWhole& change) {
    tell.warn("reloaded " + path + ": " + change.what());
  } catch (const std::exception& error) {
    tell.warn(std::string("not reloaded: ") + error.what());
  }
}

nlohmann::ordered_json set_keys(control::RunningConfig& running, const control::SetRequest& request,
                                const Tell& tell) try {
  nlohmann::ordered_json answer = running.set(request);
  if (request.dry_run) return answer;
  for (const auto& key : answer["keys"])
    tell("set " + key["path"].get<std::string>() + ": " + key["from"].get<std::string>() + " -> " +
         key["to"].get<std::string>());
  return answer;
} catch (const control::TakenButNotWhole& change) {
  tell.warn(std::string("set: ") + change.what());
  throw;
}

// A change that holds, but for a part of it, is made.
void remedy_collisions(control::RunningConfig& running, const control::CollisionRemedy& remedy,
                       const Tell& tell) try {
  set_keys(running, {.values = {{remedy.key, remedy.value}}}, tell);
} catch (const control::TakenButNotWhole&) {  // told
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

nlohmann::ordered_json assign(control::RunningConfig& running, control::AssignRequest request,
                              const Options& options, const Tell& tell) {
  if (options.assigned_path.empty())
    throw std::invalid_argument("the switch was started without --assigned, so it has no manager");
  if (!request.forget_term) request.text = config::read_file(request.file);
  nlohmann::ordered_json answer = running.assign(request);
  if (request.forget_term) tell("the manager's term is forgotten: the next document may have any");
  if (!request.dry_run && !answer["change"].get<std::string>().empty())
    tell("assigned, revision " + answer["version"]["revision"].dump() + ": " +
         answer["change"].get<std::string>());
  return answer;
}

std::vector<std::uint32_t> drain(dataplane::Switch& sw, const control::DrainRequest& request,
                                 const Tell& tell) {
  std::vector<std::uint32_t> jobs = control::drain_jobs(sw, request);
  if (!jobs.empty())
    tell(control::list_of_jobs(jobs) +
         (request.undo ? ": held no more" : ": drained and held, until `tributary drain --undo`"));
  return jobs;
}

struct Start {
  config::SwitchConfig config;  // by both documents
  config::Document document;
  tools::AssignedFiles::Kept kept;  // of what a manager assigned before the switch stopped
};

Start load(const Options& options, const std::string& text) {
  Start start;
  start.document = config::parse_document(text, options.config_path, options.node);
  start.config = config::switch_config(start.document);
  if (options.assigned_path.empty()) return start;
  const bool only_looks = options.check || options.print_config;
  start.kept = tools::AssignedFiles(options.assigned_path).load(!only_looks);
  for (const std::string& line : start.kept.damage) report_warning(line);
  if (start.kept.document)
    start.config = config::merged(std::move(start.config), *start.kept.document);
  return start;
}

// The actions of the running configuration: read the file, compare, apply, keep.
control::RunningConfig::Shell shell(const Options& options, dataplane::Switch& sw,
                                    Changer& changer) {
  const tools::AssignedFiles files(options.assigned_path);
  return {[&options] { return config::read_file(options.config_path); },
          [&sw](const config::SwitchConfig& next) { return sw.compare(next); },
          [&changer](const config::SwitchConfig& next) { return changer.apply(next); },
          [files](const std::string& text) { files.keep(text); },
          [files](std::uint64_t term) { files.keep_term(term); }};
}

int serve(Start start, const Options& options) {
  const config::SwitchConfig& config = start.config;
  tools::Daemon daemon;
  auto environment = dataplane::current_environment();
  environment.log_level = options.dpdk_log_level;
  const dataplane::Eal eal(dataplane::eal_arguments(config, environment));
  control::EventLog log(write_event);
  const Tell tell(log);
  dataplane::Switch sw(config, tell);
  control::Show show(sw);
  std::optional<control::MetricsServer> metrics;
  if (!config.metrics_listen.empty()) metrics.emplace(config.metrics_listen, sw);
  std::optional<Changer> changer(std::in_place, sw, tell);
  std::optional<control::EventWatch> events(std::in_place, control::SwitchLook(sw), log);
  control::RunningConfig running(std::move(start.document), shell(options, sw, *changer),
                                 std::move(start.kept.document), start.kept.latest);
  std::optional<control::CollisionWatch> collisions(
      std::in_place, sw, tell,
      [&](const control::CollisionRemedy& remedy) { remedy_collisions(running, remedy, tell); });
  std::optional<control::ReportThread> reports;
  if (config.telemetry.enabled()) reports.emplace(sw);
  std::optional<control::CaptureServer> captures(std::in_place, sw, tell);
  std::optional<control::SocketServer> socket;
  if (!config.control_socket.empty())
    socket.emplace(
        config.control_socket,
        [&](std::string_view line) {
          return control::answer_request(
              line,
              [&](const std::string& what) -> control::ShowAnswer {
                return answer_show(what, show, running, *collisions, log);
              },
              [&](const control::ExcludeRequest& wish) { return control::exclude_rank(sw, wish); },
              [&] { return reload(running, options.config_path, tell); },
              [&](const control::PlaceHostRequest& wish) { return control::place_hosts(sw, wish); },
              [&](const control::SetRequest& wish) { return set_keys(running, wish, tell); },
              [&](const control::AssignRequest& wish) {
                return assign(running, wish, options, tell);
              },
              [&](const control::DrainRequest& wish) { return drain(sw, wish, tell); });
        },
        control::SocketServer::Options{
            .takeover = [&](std::string_view line,
                            int connection) { return captures->take(line, connection); },
            .takes_long = control::takes_long});
  std::printf("%s", memory_text(config).c_str());
  {
    const auto held = sw.hold();
    std::printf("%s", sw.pools().describe().c_str());
    print_ports(sw);
  }
  daemon.announce_ready(options.ready_fd);
  daemon.wait({[&] { reload_on_signal(running, options.config_path, tell); },
               [&sw] { return sw.heartbeat(); }});
  socket.reset();  // no client may ask a loop that no longer answers
  captures.reset();
  collisions.reset();  // which changes jobs
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
