// tributary-telemetryd: the telemetry server. Receives reports of registered switches, keeps the
// record table, and serves it over HTTP.
#include <arpa/inet.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "config/text/codec.h"
#include "config/text/file.h"
#include "dataplane/host/periodic_thread.h"
#include "telemetry/path/decision_timer.h"
#include "tools/cli/app.h"
#include "tools/client/control/stoppable_question.h"
#include "tools/client/manager/manager_library.h"
#include "tools/daemon/daemon.h"
#include "tools/daemon/log_options.h"
#include "tools/program/cpu_check.h"
#include "tools/telemetryd/history.h"
#include "tools/telemetryd/orders.h"
#include "tools/telemetryd/pages.h"
#include "tools/telemetryd/path_setter.h"
#include "tools/telemetryd/tree_mover.h"

namespace tributary::telemetryd {
namespace {

struct Options {
  std::string listen = "127.0.0.1:32766";
  std::string http = "127.0.0.1:9476";
  std::vector<std::string> switches;
  std::string topology;
  std::string key_file;
  std::uint16_t int_port = 5000;
  std::optional<std::uint32_t> dscp;
  HistoryOptions history;  // no file: none is kept
  bool check = false;
  int ready_fd = -1;
  tools::LogWords log;
};

ReceiverOptions receiver_options(const Options& options, const NetworkFile& network) {
  ReceiverOptions out;
  out.listen = parse_endpoint("--listen", options.listen);
  for (const std::string& text : options.switches) register_switch(out.switches, text);
  for (const NetworkNode& node : network.nodes)
    if (node.reports_from != 0)
      out.switches.emplace(node.id, Registration{htonl(node.reports_from), node.reports_through});
  if (out.switches.empty())
    throw std::invalid_argument(
        "no switch may report; allowed: --switch NODE=IPV4, or --topology with nodes that have "
        "reports_from");
  if (!options.key_file.empty() && !network.key_file.empty())
    throw std::invalid_argument(
        "--key-file: the file of --topology has key_file; allowed: one of both");
  if (const std::string& file = options.key_file.empty() ? network.key_file : options.key_file;
      !file.empty())
    out.key = std::make_shared<const control::ReportKey>(file);
  out.marking.udp_port = options.int_port;
  if (options.dscp) out.marking.dscp = static_cast<std::uint8_t>(*options.dscp);
  return out;
}

constexpr std::chrono::milliseconds kPathPause(100);
constexpr std::chrono::milliseconds kOpEndPause(5);  // where the ends of ops say when
constexpr std::chrono::milliseconds kMovePause(20);
constexpr std::chrono::milliseconds kLookPause(1000);
constexpr Duration kAnswerTime = Duration::seconds(5);
constexpr double kManagerSeconds = 8;  // a manager answers after five, though a switch be late
constexpr Duration kDrainTime = Duration::seconds(90);  // beyond the longest switch.drain_time

std::int64_t unix_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

struct AllOrders {
  Orders<PathWatch::TreeMove> trees;
  Orders<PathWatch::PathOrder> paths;
};

// Looks at the record table when that is due; what changes goes to the log, to the history if there
// is one, and to the switches that it concerns.
void follow(PathWatch& paths, const Receiver& receiver, telemetry::DecisionTimer& timer,
            History* history, AllOrders& orders) {
  using Look = telemetry::DecisionTimer::Look;
  Instant now;
  Look look = Look::none;
  receiver.with_table(
      [&](const telemetry::RecordTable& table, const ReceiverCounters&, Instant at) {
        look = timer.next(table.ops().ended(), now = at);
        if (look != Look::none) paths.refresh(table, now);
      });
  if (look == Look::none || (look == Look::if_changed && !paths.take_change())) return;
  for (const PathWatch::Decision& decision : paths.decide(now)) {
    tools::report(decision.from + " to " + decision.to + ": " +
                  decision.explanation.substr(0, decision.explanation.find('\n')));
    if (history != nullptr)
      history->note({unix_ms(), decision.from, decision.to, decision.explanation});
    if (decision.move) orders.trees.add(*decision.move);
    if (decision.order) orders.paths.add(*decision.order);
  }
}

// The thread that does so. Its end ends a look at many paths.
class Watching {
 public:
  Watching(PathWatch& paths, std::chrono::milliseconds pause, std::function<void()> look)
      : paths_(paths), thread_(pause, std::move(look)) {}
  ~Watching() { paths_.end(); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  PathWatch& paths_;
  dataplane::PeriodicThread thread_;
};

nlohmann::ordered_json ask_about_tree(const std::string& socket,
                                      const nlohmann::ordered_json& request, int stop) {
  const bool drains = request.contains("dry_run") && !request["dry_run"];
  return client::ask_switch_until(stop, socket, request, drains ? kDrainTime : kAnswerTime);
}
// Nothing is drained for a path.
nlohmann::ordered_json ask_about_paths(const std::string& socket,
                                       const nlohmann::ordered_json& request, int stop) {
  return client::ask_switch_until(stop, socket, request, kAnswerTime);
}

// Asks switches anew after each kLookPause which way up they use: operators may move them, too.
class Following {
 public:
  // `stop`: a descriptor that can be read when the server ends.
  Following(const NetworkFile& network, PathWatch& paths, Orders<PathWatch::TreeMove>& orders,
            int stop)
      : mover_(
            network, paths,
            [stop](const auto& socket, const auto& request) {
              return ask_about_tree(socket, request, stop);
            },
            [](const std::string& line) { tools::report(line); }),
        orders_(orders) {}
  void turn() {
    const auto moves = orders_.take();
    mover_.finish();
    for (const PathWatch::TreeMove& move : moves) mover_.carry_out(move);
    if (!moves.empty() || turns_++ % (kLookPause / kMovePause) == 0) mover_.look();
  }

 private:
  TreeMover mover_;
  Orders<PathWatch::TreeMove>& orders_;
  unsigned turns_ = 0;
};

// The same where a manager moves the trees.
class FollowingManager {
 public:
  FollowingManager(const NetworkFile& network, PathWatch& paths,
                   Orders<PathWatch::TreeMove>& orders, int stop)
      : trees_(
            network, paths,
            [stop, target = manager::Target{network.manager.address, network.manager.ca,
                                            network.manager.certificate, network.manager.key}](
                const std::string& method, const nlohmann::ordered_json& request) {
              return client::call_manager(target, method, request, kManagerSeconds, stop);
            },
            [](const std::string& line) { tools::report(line); }),
        orders_(orders) {}
  void turn() {
    const auto moves = orders_.take();
    for (const PathWatch::TreeMove& move : moves) trees_.carry_out(move);
    if (!moves.empty() || turns_++ % (kLookPause / kMovePause) == 0) trees_.look();
  }

 private:
  ManagedTrees trees_;
  Orders<PathWatch::TreeMove>& orders_;
  unsigned turns_ = 0;
};

// The same for the paths of other traffic.
class Setting {
 public:
  Setting(const NetworkFile& network, PathWatch& paths, Orders<PathWatch::PathOrder>& orders,
          int stop)
      : setter_(
            network, paths,
            [stop](const auto& socket, const auto& request) {
              return ask_about_paths(socket, request, stop);
            },
            [](const std::string& line) { tools::report(line); }),
        orders_(orders) {}
  void turn() {
    for (const PathWatch::PathOrder& order : orders_.take()) setter_.carry_out(order);
    if (turns_++ % (kLookPause / kMovePause) == 0) setter_.look();
  }

 private:
  PathSetter setter_;
  Orders<PathWatch::PathOrder>& orders_;
  unsigned turns_ = 0;
};

// A thread that follows trees or sets paths. Its end ends a question to a switch or manager that
// hangs.
template <typename Work>
class Asking {
 public:
  template <typename Orders>
  Asking(const NetworkFile& network, PathWatch& paths, Orders& orders)
      : stop_(eventfd(0, EFD_CLOEXEC)),
        work_(network, paths, orders, stop_),
        thread_(std::in_place, kMovePause, [this] { work_.turn(); }) {}
  ~Asking() {
    eventfd_write(stop_, 1);
    thread_.reset();
    close(stop_);
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  const int stop_;
  Work work_;
  std::optional<dataplane::PeriodicThread> thread_;
};

void keep(History& history, const Receiver& receiver) {
  std::vector<LinkRow> rows;
  Instant now;
  receiver.with_table(
      [&](const telemetry::RecordTable& table, const ReceiverCounters&, Instant at) {
        rows = history.sample(table.links());
        now = at;
      });
  if (const auto news = history.write(rows, now, unix_ms())) tools::report(*news);
}

std::chrono::milliseconds pause_of(const HistoryOptions& options) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::nanoseconds(options.every.to_ns()));
}

int run(const Options& options) {
  try {
    NetworkFile network;
    if (!options.topology.empty())
      network = parse_network(config::read_file(options.topology), options.topology);
    const ReceiverOptions checked = receiver_options(options, network);
    parse_endpoint("--http", options.http);
    if (options.check) {
      std::printf("%s: good\n", options.topology.empty() ? "options" : options.topology.c_str());
      return 0;
    }
    tools::Daemon daemon;
    std::optional<PathWatch> paths;
    if (!options.topology.empty()) paths.emplace(network);
    std::optional<History> kept;
    if (!options.history.file.empty()) kept.emplace(options.history);
    const PathWatch* const watched = paths ? &*paths : nullptr;
    History* const history = kept ? &*kept : nullptr;
    const Receiver receiver(checked);
    AllOrders orders;
    telemetry::DecisionTimer timer(network.decide);
    std::optional<Asking<Following>> mover;
    std::optional<Asking<FollowingManager>> manager;
    std::optional<Asking<Setting>> setter;
    std::optional<Watching> follower;
    if (paths)
      follower.emplace(*paths,
                       network.decide.at == telemetry::DecideAt::timer ? kPathPause : kOpEndPause,
                       [&] { follow(*paths, receiver, timer, history, orders); });
    if (!network.trees.empty() && network.manager.address.empty())
      mover.emplace(network, *paths, orders.trees);
    else if (!network.trees.empty())
      manager.emplace(network, *paths, orders.trees);
    const auto has_destinations = [](const NetworkPath& path) {
      return !path.destinations.empty();
    };
    if (std::any_of(network.paths.begin(), network.paths.end(), has_destinations))
      setter.emplace(network, *paths, orders.paths);
    std::optional<dataplane::PeriodicThread> keeper;
    if (kept) keeper.emplace(pause_of(options.history), [&] { keep(*history, receiver); });
    const control::MetricsServer http("--http", options.http,
                                      std::make_shared<ReceiverMetrics>(receiver, watched, history),
                                      pages(receiver, watched, history));
    std::printf("reports at UDP port %d of %zu switches, HTTP port %d\n", receiver.port(),
                checked.switches.size(), http.port());
    daemon.announce_ready(options.ready_fd);
    daemon.wait({{}, [&receiver] { return receiver.turns(); }});
    return 0;
  } catch (const config::ConfigErrors& error) {
    tools::report_end(error.what());
    return 1;
  } catch (const std::invalid_argument& error) {
    tools::report_end(std::string("tributary-telemetryd: ") + error.what());
    return cli::kExitUsage;
  } catch (const std::exception& error) {
    tools::report_end(std::string("tributary-telemetryd: ") + error.what());
    return 1;
  }
}

struct DurationLimits {
  Duration least;
  Duration most;
  const char* allowed;
};

void add_duration(cli::App& app, const std::string& name, Duration& target,
                  const DurationLimits& limits, const std::string& help) {
  app.add_parsed(
         name,
         [=, &target](const std::string& text) {
           const auto value = config::parse_duration(text);
           if (!value || *value < limits.least || *value > limits.most)
             throw cli::UsageError(name, "'" + text + "'; allowed: " + limits.allowed);
           target = *value;
         },
         help)
      ->type_name("DURATION");
}

void add_history(cli::App& app, HistoryOptions& options) {
  constexpr std::int64_t kHour = 3600;
  app.add_option("--history", options.file,
                 "SQLite file that keeps what every egress port did, and which paths were chosen");
  add_duration(app, "--keep", options.keep,
               {Duration::seconds(60), Duration::seconds(87'600 * kHour), "1min to 87600h"},
               "how long the history keeps a row; 24h unless given");
  add_duration(app, "--every", options.every,
               {Duration::ms(100), Duration::seconds(kHour), "100ms to 1h"},
               "time between the history's rows; 1s unless given");
}

bool has_history_for_its_options(const cli::App& app, const HistoryOptions& options) {
  return !options.file.empty() || app.count("--keep") + app.count("--every") == 0;
}

}  // namespace
}  // namespace tributary::telemetryd

// Before DPDK's constructors, which use what an old CPU lacks.
[[gnu::section(".preinit_array"), gnu::used]] const auto kFirst = &tributary::tools::end_on_old_cpu;

int main(int argc, char** argv) {
  tributary::cli::App app("Tributary telemetry server: what each hop of the network adds",
                          "tributary-telemetryd");
  tributary::telemetryd::Options options;
  app.add_option("--listen", options.listen, "where reports come in, IPV4:PORT")
      ->capture_default_str();
  app.add_option("--http", options.http, "where /metrics, /links and /flows are, IPV4:PORT")
      ->capture_default_str();
  app.add_option(
      "--switch", options.switches,
      "NODE=IPV4[%INTERFACE]: a switch that sends reports, their source address and the interface "
      "that they come in through; beside those that --topology names");
  app.add_option("--key-file", options.key_file,
                 "file with the switches' key (switch.telemetry.key_file): reports without its "
                 "signature are dropped");
  app.add_option("--topology", options.topology,
                 "file with nodes, links and the paths to be found");
  app.add_option("--int-port", options.int_port, "UDP port that marks packets with telemetry")
      ->capture_default_str();
  app.add_option("--dscp", options.dscp, "DSCP that marks them instead")
      ->check(tributary::cli::range(std::uint32_t{0}, std::uint32_t{63}));
  tributary::telemetryd::add_history(app, options.history);
  app.add_flag("--check", options.check, "check the options and the file, exit");
  app.add_ready_fd(options.ready_fd);
  tributary::tools::add_log_options(app, options.log);
  app.set_version_flag("--version", std::string("tributary-telemetryd ") + TRIBUTARY_VERSION);
  if (const auto status = app.run(argc, argv)) return *status;
  tributary::tools::set_log(options.log);
  if (!tributary::telemetryd::has_history_for_its_options(app, options.history)) {
    tributary::tools::report_end("tributary-telemetryd: --keep and --every go with --history");
    return tributary::cli::kExitUsage;
  }
  return tributary::telemetryd::run(options);
}
